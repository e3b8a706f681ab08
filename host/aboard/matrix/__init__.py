"""Which models work on which boards? A table of models by boards by options, filled on a farm of boards.

`row` builds and checks one row, `table` all of them; `report` and `junit` write what people and CI systems read.
"""
