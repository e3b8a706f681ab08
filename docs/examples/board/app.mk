# Builds app.elf of main.c, the bundles in build/ named by MODELS and the front end in build/front_end, for the emulated
# mps2-an386. A Makefile of an example sets MODELS and includes this file.
BUILD = ../build
BOARD = ../../board
CC = arm-none-eabi-gcc
CFLAGS = -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O2 -ffunction-sections -fdata-sections \
	-fno-tree-slp-vectorize -Wall -Wextra -Wconversion -Werror
INCLUDES = -I$(BOARD) -I$(BUILD) $(MODELS:%=-I$(BUILD)/%/include) -I$(BUILD)/front_end/include -I$(BUILD)/front_end/src
SOURCES = main.c $(BOARD)/mps2_an386.c $(foreach model,$(MODELS),$(wildcard $(BUILD)/$(model)/src/*.c)) \
	$(wildcard $(BUILD)/front_end/src/*.c)

$(BUILD)/app.elf: $(SOURCES) $(BUILD)/numbers.h $(BOARD)/board.h $(BOARD)/mps2_an386.ld
	$(CC) $(CFLAGS) $(INCLUDES) $(SOURCES) -nostartfiles -Wl,--gc-sections -T $(BOARD)/mps2_an386.ld -o $@
	arm-none-eabi-size $@
