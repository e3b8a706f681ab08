/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/tree_ensemble.h
 * Ensembles of decision trees in constant tables.
 *
 * The compiler has checked the tables: every walk from a root ends at a leaf, whatever the samples are. Tables have
 * elements of 1, 2 or 4 bytes, the fewest that their values need.
 */
#ifndef ABOARD_KERNELS_PORTABLE_TREE_ENSEMBLE_H
#define ABOARD_KERNELS_PORTABLE_TREE_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** How the weights of several trees become one number. */
enum { ABOARD_TREE_SUM, ABOARD_TREE_MINIMUM, ABOARD_TREE_MAXIMUM };

/**
 * What both forms of leaves have in common. Samples are {samples, features}, results {samples, targets}, without gaps.
 *
 * A node has `node_fields` elements of the table of nodes: the feature; the child for values of at most the threshold;
 * the child for values above it; and with 4 fields the index of its threshold, which otherwise is the number of the
 * node. A child is the number of a node less that of the root, or if negative, the complement of the number of a leaf
 * less that of the tree's first one. With `has_missing`, the feature is times 2, plus 1 if a NaN goes to the first child;
 * otherwise it goes to the second one.
 *
 * A tree has three elements of the table of trees: its root, its first leaf, and the first target of its leaves.
 */
typedef struct {
    int32_t samples;
    int32_t features;
    int32_t targets;
    int32_t trees;
    int32_t node_bytes; /**< Bytes of an element of the table of nodes. */
    int32_t node_fields;
    int32_t tree_bytes; /**< Bytes of an element of the table of trees. */
    bool has_missing;
    int32_t aggregate; /**< ABOARD_TREE_SUM and so on. */
    float initial;     /**< Result before the first tree. */
} aboard_trees_t;

/** Parameters of aboard_tree_ensemble_dense. */
typedef struct {
    aboard_trees_t trees;
    int32_t width; /**< Weights of a leaf, for as many targets from the tree's first one on. */
} aboard_tree_ensemble_dense_t;

/** Parameters of aboard_tree_ensemble_sparse. */
typedef struct {
    aboard_trees_t trees;
    int32_t first_bytes; /**< Bytes of an element of the table of first pairs. */
    int32_t pair_bytes;  /**< Bytes of an element of the table of pairs. */
    int32_t pair_fields; /**< 1, or 2 with the index of the weight, which otherwise is the number of the pair. */
} aboard_tree_ensemble_sparse_t;

/** Element of a table whose elements have so many bytes. */
ABOARD_INLINE uint32_t aboard_tree_element(const void *table, int32_t bytes, int32_t index) {
    return bytes == 1   ? ((const uint8_t *)table)[index]
           : bytes == 2 ? ((const uint16_t *)table)[index]
                        : ((const uint32_t *)table)[index];
}

/** As aboard_tree_element, with a sign. */
ABOARD_INLINE int32_t aboard_tree_signed(const void *table, int32_t bytes, int32_t index) {
    return bytes == 1   ? ((const int8_t *)table)[index]
           : bytes == 2 ? ((const int16_t *)table)[index]
                        : ((const int32_t *)table)[index];
}

/** Order of infinity (aboard_tree_order): every larger order is that of a NaN. */
#define ABOARD_TREE_INFINITY 0xff000001u

/**
 * Returns a number that is as large, compared with that of another float, as the float itself; -0 is before 0, and every
 * NaN behind infinity. Integers compare as quickly on cores without floating point.
 */
ABOARD_INLINE uint32_t aboard_tree_order(const float *x) {
    uint32_t bits;
    memcpy(&bits, x, sizeof(bits));
    const uint32_t flipped = (0u - (bits >> 31)) >> 1;
    return (bits ^ flipped) + 0x7f800001u;
}

/** Returns the leaf that a sample reaches in the tree that begins at node `root`, less the tree's first leaf. */
ABOARD_INLINE int32_t aboard_tree_leaf(const aboard_trees_t *p, const void *nodes, const uint32_t *thresholds,
                                       const float *x, int32_t root) {
    int32_t at = 0;
    do {
        const int32_t node = root + at;
        const int32_t field = node * p->node_fields;
        const uint32_t feature = aboard_tree_element(nodes, p->node_bytes, field);
        const uint32_t order = aboard_tree_order(x + (p->has_missing ? feature >> 1 : feature));
        const int32_t index =
            p->node_fields == 4 ? (int32_t)aboard_tree_element(nodes, p->node_bytes, field + 3) : node;
        bool above = order > thresholds[index];
        if (p->has_missing && order > ABOARD_TREE_INFINITY && (feature & 1u) != 0) {
            above = false;
        }
        at = aboard_tree_signed(nodes, p->node_bytes, field + 1 + (int32_t)above);
    } while (at >= 0);
    return ~at;
}

/** Combines a result with the weight of a leaf. */
ABOARD_INLINE void aboard_tree_add(const aboard_trees_t *p, float *out, float weight) {
    if (p->aggregate == ABOARD_TREE_SUM) {
        *out += weight;
    } else if (p->aggregate == ABOARD_TREE_MINIMUM ? weight < *out : weight > *out) {
        *out = weight;
    }
}

/** Sets the results of a sample to what they are before the first tree. */
ABOARD_INLINE void aboard_tree_begin(const aboard_trees_t *p, float *out) {
    for (int32_t t = 0; t < p->targets; ++t) {
        out[t] = p->initial;
    }
}

/**
 * Trees whose leaves all have weights for as many targets, one behind the other.
 *
 * @param p            Parameters.
 * @param in           Samples.
 * @param out          Results; other memory than the samples.
 * @param nodes        Table of nodes.
 * @param thresholds   Orders of the thresholds (aboard_tree_order).
 * @param trees        Table of trees.
 * @param weights      Weights {leaves, width}.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_tree_ensemble_dense(const aboard_tree_ensemble_dense_t *p, const float *in, float *out,
                                              const void *nodes, const uint32_t *thresholds, const void *trees,
                                              const float *weights, int32_t first, int32_t last) {
    (void)first;
    (void)last;
    const aboard_trees_t *q = &p->trees;
    for (int32_t s = 0; s < q->samples; ++s) {
        const float *x = in + s * q->features;
        float *y = out + s * q->targets;
        aboard_tree_begin(q, y);
        for (int32_t t = 0; t < 3 * q->trees; t += 3) {
            const int32_t root = (int32_t)aboard_tree_element(trees, q->tree_bytes, t);
            const int32_t leaf = (int32_t)aboard_tree_element(trees, q->tree_bytes, t + 1) +
                                 aboard_tree_leaf(q, nodes, thresholds, x, root);
            float *target = y + aboard_tree_element(trees, q->tree_bytes, t + 2);
            for (int32_t k = 0; k < p->width; ++k) {
                aboard_tree_add(q, target + k, weights[leaf * p->width + k]);
            }
        }
    }
}

/**
 * Trees whose leaves have weights for some targets: pairs of target and weight. Leaves may share pairs.
 *
 * An element of the table of pairs is twice the target, plus 1 for the last pair of a leaf; with 2 fields, the index of
 * the weight is behind it. Every leaf has at least one pair. The other parameters are as of aboard_tree_ensemble_dense.
 *
 * @param firsts   First pair of each leaf.
 * @param pairs    Table of pairs.
 * @param weights  Weight of each pair, or weights that pairs name.
 */
ABOARD_INLINE void aboard_tree_ensemble_sparse(const aboard_tree_ensemble_sparse_t *p, const float *in, float *out,
                                               const void *nodes, const uint32_t *thresholds, const void *trees,
                                               const void *firsts, const void *pairs, const float *weights,
                                               int32_t first, int32_t last) {
    (void)first;
    (void)last;
    const aboard_trees_t *q = &p->trees;
    for (int32_t s = 0; s < q->samples; ++s) {
        const float *x = in + s * q->features;
        float *y = out + s * q->targets;
        aboard_tree_begin(q, y);
        for (int32_t t = 0; t < 3 * q->trees; t += 3) {
            const int32_t root = (int32_t)aboard_tree_element(trees, q->tree_bytes, t);
            const int32_t leaf = (int32_t)aboard_tree_element(trees, q->tree_bytes, t + 1) +
                                 aboard_tree_leaf(q, nodes, thresholds, x, root);
            int32_t pair = (int32_t)aboard_tree_element(firsts, p->first_bytes, leaf) - 1;
            uint32_t target;
            do {
                ++pair;
                target = aboard_tree_element(pairs, p->pair_bytes, pair * p->pair_fields);
                const int32_t weight = p->pair_fields == 2
                                           ? (int32_t)aboard_tree_element(pairs, p->pair_bytes, pair * 2 + 1)
                                           : pair;
                aboard_tree_add(q, y + (target >> 1), weights[weight]);
            } while ((target & 1u) == 0);
        }
    }
}

#endif
