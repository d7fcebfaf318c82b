# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-bench is made of: models, their PyTorch form, the ways that are compared, and the report."""
