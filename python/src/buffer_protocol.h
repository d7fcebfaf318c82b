// SPDX-License-Identifier: Apache-2.0
// Python's buffer protocol. The stable ABI has it since Python 3.11, whose headers hide it from a
// module that is for 3.10 too; 3.10 exports the same functions for the same structure (PEP 3118).
#pragma once

#include <nanobind/nanobind.h>

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030B0000

extern "C" {

struct Py_buffer {
  void* buf;
  PyObject* obj;   ///< owned reference
  Py_ssize_t len;  ///< in bytes
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};

PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject* object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject* object, Py_buffer* view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer* view);

}  // extern "C"

constexpr int PyBUF_WRITABLE = 0x0001;
constexpr int PyBUF_C_CONTIGUOUS = 0x0038;  // with PyBUF_STRIDES and PyBUF_ND

#endif
