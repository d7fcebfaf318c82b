# SPDX-License-Identifier: Apache-2.0
"""Random small models of the operators and spellings that exporters write, and how gantry's results for them are judged. [compare](compare.py) is the program."""
