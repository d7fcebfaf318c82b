# SPDX-License-Identifier: Apache-2.0
"""Makers of the zoo's models (tools/zoo): each file is a kind, and has models(), pairs of a name and a function that makes a Made."""
