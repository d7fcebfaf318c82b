# SPDX-License-Identifier: Apache-2.0
"""Attributes that take values of one kind only, so that a wrong one is told where it is set."""

import enum
import operator
import os
from typing import Any, Generic, TypeVar, overload

__all__ = ["CheckedOption"]

T = TypeVar("T")


def _converted(value: Any, kind: type) -> Any:
    """`value` as a `kind`. TypeError, ValueError: it is none."""
    if kind is bool:
        if value not in (False, True):
            raise ValueError(value)
        return bool(value)
    if issubclass(kind, enum.Enum):
        return kind(value)
    if kind is int:
        return operator.index(value)
    return os.fsdecode(value)


class CheckedOption(Generic[T]):
    """An attribute with a default, whose type is the kind of all its values: bool, int, an enumeration, or a text or path.

    >>> class Options: threads = CheckedOption(0)
    >>> Options().threads = "2"
    TypeError: Options.threads: expected an int, found '2'
    """

    def __init__(self, default: T) -> None:
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, options: None, owner: type) -> "CheckedOption[T]": ...

    @overload
    def __get__(self, options: object, owner: type | None = None) -> T: ...

    def __get__(self, options: Any, owner: type | None = None) -> "CheckedOption[T] | T":
        if options is None:
            return self
        value: T = options.checked_values.get(self.name, self.default)
        return value

    def __set__(self, options: Any, value: Any) -> None:
        kind = type(self.default)
        try:
            options.checked_values[self.name] = _converted(value, kind)
        except (TypeError, ValueError):
            article = "an" if kind.__name__[0] in "aeiouAEIOU" else "a"
            raise TypeError(f"{type(options).__name__}.{self.name}: expected {article} {kind.__name__}, found {value!r}") from None
