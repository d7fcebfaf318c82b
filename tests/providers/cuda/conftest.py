# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the provider's tests: processes in which CUDA:0 is a fake."""

import pytest
from cuda_worker import BUILD, FAKE, Worker, compare_all


@pytest.fixture(scope="session")
def cuda(tmp_path_factory):
    if not (FAKE / "libcuda.so.1").exists():
        pytest.skip(f"{FAKE} is not built (-DGANTRY_BUILD_TESTS=ON)")
    worker = Worker(tmp_path_factory.mktemp("cuda"))
    yield worker
    worker.close()


@pytest.fixture(scope="session")
def cuda_blas(cuda, tmp_path_factory):
    """The same with a fake cuBLASLt."""
    worker = Worker(tmp_path_factory.mktemp("cuda_blas"), BUILD / "tests" / "fake_cuda_blas", own_kernels=False)
    yield worker
    worker.close()


@pytest.fixture
def agrees(cuda):
    """agrees(model, feeds, ...): as compare_all on the fake without cuBLASLt."""
    return lambda model, feeds, rtol=None, atol=None: compare_all(cuda, model, feeds, rtol, atol)
