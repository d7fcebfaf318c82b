# SPDX-License-Identifier: Apache-2.0
"""Convolutions over ranks, groups, pads, strides and dilations: extents of the input, of the weights, attributes."""

CONVOLUTIONS = {
    "pointwise": ((2, 24, 17, 19), (40, 24, 1, 1), {}),
    "pointwise_strided": ((1, 16, 17, 19), (8, 16, 1, 1), {"strides": [2, 3]}),
    "pointwise_padded": ((1, 16, 7, 9), (8, 16, 1, 1), {"pads": [1, 0, 2, 1]}),
    "square": ((2, 16, 20, 21), (32, 16, 3, 3), {"pads": [1, 1, 1, 1]}),
    "stem": ((1, 3, 64, 50), (16, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    "many_features_small_plane": ((1, 128, 7, 7), (256, 128, 3, 3), {"pads": [1, 1, 1, 1]}),
    "large_plane": ((1, 8, 150, 170), (16, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
    "dilated": ((1, 6, 23, 25), (5, 6, 3, 2), {"dilations": [2, 3], "pads": [2, 0, 1, 4]}),
    "window_over_padding": ((1, 2, 3, 3), (3, 2, 5, 5), {"pads": [4, 4, 4, 4], "dilations": [1, 2]}),
    "grouped": ((2, 12, 11, 9), (18, 4, 3, 3), {"group": 3, "pads": [1, 1, 0, 0]}),
    "one_axis": ((3, 10, 100), (7, 10, 5), {"strides": [3], "pads": [2, 1]}),
    "three_axes": ((1, 3, 9, 8, 7), (4, 3, 3, 2, 3), {"strides": [2, 1, 1], "pads": [1, 0, 1, 1, 1, 0]}),
    "four_axes": ((1, 2, 4, 5, 3, 6), (3, 2, 2, 3, 1, 2), {"strides": [1, 2, 1, 2]}),
    "same_upper": ((1, 3, 14, 13), (4, 3, 3, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    "same_lower": ((1, 3, 14, 13), (4, 3, 3, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 3]}),
    "valid": ((1, 3, 14, 13), (4, 3, 3, 4), {"auto_pad": "VALID", "strides": [2, 3]}),
    "depthwise": ((2, 19, 30, 37), (19, 1, 3, 3), {"group": 19, "pads": [1, 1, 1, 1]}),
    "depthwise_strided": ((1, 8, 31, 41), (8, 1, 5, 5), {"group": 8, "pads": [2, 2, 2, 2], "strides": [2, 2]}),
    "depthwise_odd": ((1, 5, 33, 40), (5, 1, 3, 4), {"group": 5, "pads": [0, 3, 1, 2], "strides": [3, 3], "dilations": [2, 3]}),
    "depthwise_multiplied": ((1, 4, 20, 20), (12, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "depthwise_line": ((2, 6, 200), (6, 1, 9), {"group": 6, "pads": [4, 4]}),
    "depthwise_tall": ((1, 2, 700, 90), (2, 1, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "depthwise_volume": ((1, 4, 6, 7, 8), (4, 1, 2, 3, 3), {"group": 4}),
}
