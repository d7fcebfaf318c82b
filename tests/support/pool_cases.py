# SPDX-License-Identifier: Apache-2.0
"""Windows of pools over ranks, pads, strides, dilations and ceil_mode: extents of the input, attributes."""

WINDOWS = {
    "square": ((2, 3, 12, 13), {"kernel_shape": [3, 3]}),
    "strided": ((1, 5, 13, 14), {"kernel_shape": [2, 3], "strides": [2, 3]}),
    "padded": ((1, 3, 12, 9), {"kernel_shape": [3, 4], "pads": [1, 0, 2, 3], "strides": [2, 1]}),
    "one_axis": ((2, 3, 40), {"kernel_shape": [5], "strides": [3], "pads": [2, 1]}),
    "three_axes": ((1, 2, 7, 8, 9), {"kernel_shape": [3, 2, 3], "strides": [2, 1, 2], "pads": [1, 0, 1, 1, 1, 0]}),
    "same_upper": ((1, 2, 11, 14), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_UPPER"}),
    "same_lower": ((1, 2, 11, 14), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"}),
    "valid": ((1, 2, 11, 14), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "VALID"}),
    "wide": ((3, 64, 30, 31), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
}
CEILED = {
    "ceil": ((1, 2, 10, 11), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    "ceil_padded": ((1, 2, 10, 12), {"kernel_shape": [3, 3], "strides": [3, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
    "ceil_dropped": ((1, 1, 2, 2), {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}),
}
DILATED = {"dilated": ((1, 2, 14, 15), {"kernel_shape": [3, 2], "strides": [1, 2], "dilations": [2, 3]})}
