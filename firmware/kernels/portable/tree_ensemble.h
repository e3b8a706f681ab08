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
 * less that of the tree's first one. With `has_missing`, the feature is times 2, plus 1 if a NaN goes to the first
 * child; otherwise it goes to the second one.
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
} aboard_tree_ensemble_sparse_t;

/** Parameters of aboard_tree_ensemble_indexed. */
typedef struct {
    aboard_trees_t trees;
    int32_t first_bytes; /**< As aboard_tree_ensemble_sparse_t, and the next one. */
    int32_t pair_bytes;
    int32_t index_bytes; /**< Bytes of an element of the table of indices. */
} aboard_tree_ensemble_indexed_t;

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

/** Order of 0 and of infinity (aboard_tree_order): every larger order than that of infinity is that of a NaN. */
#define ABOARD_TREE_ZERO 0x7f800001u
#define ABOARD_TREE_INFINITY 0xff000001u

/**
 * Returns a number that is as large, compared with that of another float, as the float itself; -0 is before 0, and
 * every NaN behind infinity. Integers compare as quickly on cores without floating point. `zero` is ABOARD_TREE_ZERO.
 */
ABOARD_INLINE uint32_t aboard_tree_order(const float *x, uint32_t zero) {
    uint32_t bits;
    memcpy(&bits, x, sizeof(bits));
    const uint32_t flipped = (0u - (bits >> 31)) >> 1;
    return (bits ^ flipped) + zero;
}

/**
 * Returns the leaf that a sample reaches in a tree, less the tree's first leaf.
 *
 * @param p           Parameters.
 * @param tree        Root of the tree in the table of nodes.
 * @param thresholds  Orders of the thresholds.
 * @param x           The sample.
 * @param zero        ABOARD_TREE_ZERO, in a register.
 */
ABOARD_INLINE int32_t aboard_tree_leaf(const aboard_trees_t *p, const uint8_t *tree, const uint32_t *thresholds,
                                       const float *x, uint32_t zero) {
    int32_t at = 0;
    do {
        const uint8_t *node = tree + at * p->node_fields * p->node_bytes;
        const uint32_t feature = aboard_tree_element(node, p->node_bytes, 0);
        const uint32_t order = aboard_tree_order(x + (p->has_missing ? feature >> 1 : feature), zero);
        const uint32_t threshold =
            p->node_fields == 4 ? thresholds[aboard_tree_element(node, p->node_bytes, 3)] : thresholds[at];
        bool is_above = order > threshold;
        if (p->has_missing && order > ABOARD_TREE_INFINITY && (feature & 1u) != 0) {
            is_above = false;
        }
        at = aboard_tree_signed(node, p->node_bytes, is_above ? 2 : 1);
    } while (at >= 0);
    return ~at;
}

/** Tables of nodes, as the functions below take them, and a constant; the compiler keeps them in registers. */
typedef struct {
    const uint8_t *nodes;
    const uint32_t *thresholds;
    uint32_t zero;
} aboard_tree_nodes_t;

/** Returns the tables. */
ABOARD_INLINE aboard_tree_nodes_t aboard_tree_nodes(const void *nodes, const uint32_t *thresholds) {
    aboard_tree_nodes_t tables = {(const uint8_t *)nodes, thresholds, ABOARD_TREE_ZERO};
    ABOARD_OPAQUE(tables.nodes);
    ABOARD_OPAQUE(tables.thresholds);
    ABOARD_OPAQUE(tables.zero);
    return tables;
}

/** Returns the leaf that a sample reaches in the tree at element t of the table of trees. */
ABOARD_INLINE int32_t aboard_tree_walk(const aboard_trees_t *p, const aboard_tree_nodes_t *tables, const void *trees,
                                       int32_t t, const float *x) {
    const int32_t root = (int32_t)aboard_tree_element(trees, p->tree_bytes, t);
    const uint8_t *tree = tables->nodes + root * p->node_fields * p->node_bytes;
    ABOARD_OPAQUE(tree);
    const uint32_t *thresholds = p->node_fields == 4 ? tables->thresholds : tables->thresholds + root;
    return (int32_t)aboard_tree_element(trees, p->tree_bytes, t + 1) +
           aboard_tree_leaf(p, tree, thresholds, x, tables->zero);
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
    const aboard_tree_nodes_t tables = aboard_tree_nodes(nodes, thresholds);
    for (int32_t s = 0; s < q->samples; ++s) {
        const float *x = in + s * q->features;
        float *y = out + s * q->targets;
        aboard_tree_begin(q, y);
        for (int32_t t = 0; t < 3 * q->trees; t += 3) {
            const int32_t leaf = aboard_tree_walk(q, &tables, trees, t, x);
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
 * An element of the table of pairs is twice the target, plus 1 for the last pair of a leaf. Every leaf has at least one
 * pair. The other parameters are as of aboard_tree_ensemble_dense.
 *
 * @param firsts   First pair of each leaf.
 * @param pairs    Table of pairs.
 * @param indices  Index of the weight of each pair, of p->index_bytes.
 * @param weights  Weights that differ.
 */
ABOARD_INLINE void aboard_tree_ensemble_indexed(const aboard_tree_ensemble_indexed_t *p, const float *in, float *out,
                                                const void *nodes, const uint32_t *thresholds, const void *trees,
                                                const void *firsts, const void *pairs, const void *indices,
                                                const float *weights, int32_t first, int32_t last) {
    (void)first;
    (void)last;
    const aboard_trees_t *q = &p->trees;
    const aboard_tree_nodes_t tables = aboard_tree_nodes(nodes, thresholds);
    for (int32_t s = 0; s < q->samples; ++s) {
        const float *x = in + s * q->features;
        float *y = out + s * q->targets;
        aboard_tree_begin(q, y);
        for (int32_t t = 0; t < 3 * q->trees; t += 3) {
            const int32_t leaf = aboard_tree_walk(q, &tables, trees, t, x);
            int32_t pair = (int32_t)aboard_tree_element(firsts, p->first_bytes, leaf);
            uint32_t target;
            do {
                target = aboard_tree_element(pairs, p->pair_bytes, pair);
                const uint32_t index =
                    p->index_bytes == 0 ? (uint32_t)pair : aboard_tree_element(indices, p->index_bytes, pair);
                aboard_tree_add(q, y + (target >> 1), weights[index]);
                ++pair;
            } while ((target & 1u) == 0);
        }
    }
}

/** As aboard_tree_ensemble_indexed; `weights` has the weight of each pair. */
ABOARD_INLINE void aboard_tree_ensemble_sparse(const aboard_tree_ensemble_sparse_t *p, const float *in, float *out,
                                               const void *nodes, const uint32_t *thresholds, const void *trees,
                                               const void *firsts, const void *pairs, const float *weights,
                                               int32_t first, int32_t last) {
    const aboard_tree_ensemble_indexed_t q = {p->trees, p->first_bytes, p->pair_bytes, 0};
    aboard_tree_ensemble_indexed(&q, in, out, nodes, thresholds, trees, firsts, pairs, weights, weights, first, last);
}

#endif
