# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-bench is made of: models, their PyTorch form, the candidates that are compared, and the report."""
