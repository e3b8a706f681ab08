/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/detection.h
 * Boxes of objects from encodings and scores, without those that overlap a box with a higher score.
 *
 * Boxes are not sorted: the best of those that are left is looked for as often as there are detections, which are few.
 * All tensors lie in memory as a whole, without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_DETECTION_H
#define ABOARD_KERNELS_PORTABLE_DETECTION_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "float_math.h"

/** Numbers of a box: least y and x, largest y and x. */
#define ABOARD_BOX 4

/** Parameters of aboard_detection. */
typedef struct {
    int32_t boxes;           /**< Boxes of the operands. */
    int32_t encoding;        /**< Numbers of an encoding, of which the first four are read. */
    int32_t classes;         /**< Classes without the background. */
    int32_t background;      /**< Scores of a box before those of the classes: 0 or 1. */
    int32_t detections;      /**< Boxes of the result. */
    int32_t per_class;       /**< Most detections of a class; 0 where a box counts with its best class only. */
    float score_threshold;   /**< Least score of a detection. */
    float overlap_threshold; /**< Intersection over union above which a box is left out. */
    float scale[ABOARD_BOX]; /**< Divisors of the encodings. */
} aboard_detection_t;

/** The results, which hold `count` detections in order of their scores, the highest first. */
typedef struct {
    float *boxes;   /**< ABOARD_BOX numbers for each. */
    float *classes; /**< Number of the class. */
    float *scores;
    int32_t count;
} aboard_detections_t;

/** Writes box number `index`. */
ABOARD_INLINE void aboard_detection_decode(const aboard_detection_t *p, const float *encodings, const float *anchors,
                                           int32_t index, float *box) {
    const float *const encoding = encodings + index * p->encoding;
    const float *const anchor = anchors + index * ABOARD_BOX;
    for (int32_t axis = 0; axis < 2; ++axis) {
        const float size = anchor[2 + axis];
        const float centre = encoding[axis] / p->scale[axis] * size + anchor[axis];
        const float half = 0.5f * ABOARD_EXP_F32(encoding[2 + axis] / p->scale[2 + axis]) * size;
        box[axis] = centre - half;
        box[2 + axis] = centre + half;
    }
}

/** Returns the intersection over union of two boxes; 0 where one is empty. */
ABOARD_INLINE float aboard_detection_overlap(const float *one, const float *other) {
    const float first = (one[2] - one[0]) * (one[3] - one[1]);
    const float second = (other[2] - other[0]) * (other[3] - other[1]);
    if (first <= 0.0f || second <= 0.0f) {
        return 0.0f;
    }
    float common = 1.0f;
    for (int32_t axis = 0; axis < 2; ++axis) {
        const float side = ABOARD_MIN(one[2 + axis], other[2 + axis]) - ABOARD_MAX(one[axis], other[axis]);
        common *= side > 0.0f ? side : 0.0f;
    }
    return common / (first + second - common);
}

/** Returns the box with the highest score of those that are left, the first of equal ones; -1 where none is left. */
ABOARD_INLINE int32_t aboard_detection_best(const aboard_detection_t *p, const float *scores, const uint8_t *left) {
    int32_t best = -1;
    for (int32_t index = 0; index < p->boxes; ++index) {
        if (left[index] && (best < 0 || scores[index] > scores[best])) {
            best = index;
        }
    }
    return best;
}

/** Puts a detection behind those with at least its score; drops the last one where there are too many. */
ABOARD_INLINE void aboard_detection_insert(const aboard_detection_t *p, aboard_detections_t *found, const float *box,
                                           float label, float score) {
    int32_t place = found->count;
    while (place > 0 && found->scores[place - 1] < score) {
        --place;
    }
    if (place == p->detections) {
        return;
    }
    found->count = ABOARD_MIN(found->count + 1, p->detections);
    for (int32_t index = found->count - 1; index > place; --index) {
        found->scores[index] = found->scores[index - 1];
        found->classes[index] = found->classes[index - 1];
        memcpy(found->boxes + index * ABOARD_BOX, found->boxes + (index - 1) * ABOARD_BOX, ABOARD_BOX * sizeof(float));
    }
    found->scores[place] = score;
    found->classes[place] = label;
    memcpy(found->boxes + place * ABOARD_BOX, box, ABOARD_BOX * sizeof(float));
}

/** Returns the class of box number `index` with the highest score, the first of equal ones. */
ABOARD_INLINE int32_t aboard_detection_class(const aboard_detection_t *p, const float *scores, int32_t index) {
    const float *const own = scores + index * (p->classes + p->background) + p->background;
    int32_t best = 0;
    for (int32_t label = 1; label < p->classes; ++label) {
        best = own[label] > own[best] ? label : best;
    }
    return best;
}

/** Adds the detections of one class, or of all classes where `label` is -1. */
ABOARD_INLINE void aboard_detection_search(const aboard_detection_t *p, const float *scores, int32_t label,
                                           const float *decoded, float *own, uint8_t *left,
                                           aboard_detections_t *found) {
    const int32_t columns = p->classes + p->background;
    const int32_t most = label < 0 ? p->detections : p->per_class;
    for (int32_t index = 0; index < p->boxes; ++index) {
        const int32_t column = label < 0 ? aboard_detection_class(p, scores, index) : label;
        own[index] = scores[index * columns + p->background + column];
        left[index] = own[index] >= p->score_threshold;
    }
    for (int32_t number = 0; number < most; ++number) {
        const int32_t best = aboard_detection_best(p, own, left);
        if (best < 0) {
            break;
        }
        const int32_t column = label < 0 ? aboard_detection_class(p, scores, best) : label;
        aboard_detection_insert(p, found, decoded + best * ABOARD_BOX, (float)column, own[best]);
        left[best] = 0;
        for (int32_t index = 0; index < p->boxes; ++index) {
            if (left[index] && aboard_detection_overlap(decoded + best * ABOARD_BOX, decoded + index * ABOARD_BOX) >
                                   p->overlap_threshold) {
                left[index] = 0;
            }
        }
    }
}

/**
 * Finds detections.
 *
 * @param p            Parameters.
 * @param encodings    [boxes, encoding]: y, x, height and width of each box, relative to its anchor.
 * @param scores       [boxes, background + classes].
 * @param anchors      [boxes, 4]: y, x, height and width.
 * @param boxes        Result [detections, 4]; 0 behind the last detection, as are classes and scores.
 * @param classes      Result [detections].
 * @param best         Result [detections]: scores.
 * @param count        Result: number of detections.
 * @param decoded      Scratch of ABOARD_BOX floats for each box.
 * @param own          Scratch of a float for each box.
 * @param left         Scratch of a byte for each box.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_detection(const aboard_detection_t *p, const float *encodings, const float *scores,
                                    const float *anchors, float *boxes, float *classes, float *best, float *count,
                                    float *decoded, float *own, uint8_t *left, int32_t first, int32_t last) {
    aboard_detections_t found = {boxes, classes, best, 0};
    (void)first;
    (void)last;
    for (int32_t index = 0; index < p->boxes; ++index) {
        aboard_detection_decode(p, encodings, anchors, index, decoded + index * ABOARD_BOX);
    }
    if (p->per_class == 0) {
        aboard_detection_search(p, scores, -1, decoded, own, left, &found);
    }
    for (int32_t label = 0; p->per_class > 0 && label < p->classes; ++label) {
        aboard_detection_search(p, scores, label, decoded, own, left, &found);
    }
    for (int32_t index = found.count; index < p->detections; ++index) {
        best[index] = 0.0f;
        classes[index] = 0.0f;
        memset(boxes + index * ABOARD_BOX, 0, ABOARD_BOX * sizeof(float));
    }
    *count = (float)found.count;
}

#endif
