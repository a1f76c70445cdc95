"""Which kernels OpenBLAS takes: chosen when the package is imported, by what the processor can do."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deeprotect

ALL = "fpu avx2 fma avx512f avx512cd avx512bw avx512dq avx512vl avx512_vnni"


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """What is chosen on a processor with these flags, as if numpy were not there yet."""

    def of(flags, *, before=None, numpy=False):
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nmodel name : new\nflags : {flags}\n")
        monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
        if before is not None:
            monkeypatch.setenv("OPENBLAS_CORETYPE", before)
        (
            monkeypatch.setitem(sys.modules, "numpy", np)
            if numpy
            else monkeypatch.delitem(sys.modules, "numpy", raising=False)
        )
        deeprotect._choose_kernels(str(tmp_path / "cpuinfo"))
        found = os.environ.get("OPENBLAS_CORETYPE")
        monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
        return found

    return of


def test_a_processor_that_can_gets_the_wide_kernels_whether_or_not_openblas_knows_it(chosen):
    assert chosen(ALL) == "SkylakeX"


@pytest.mark.parametrize("lacks", ALL.split()[3:8])
def test_a_processor_that_lacks_anything_of_it_is_left_to_openblas(chosen, lacks):
    assert chosen(ALL.replace(lacks, "")) is None


def test_what_the_user_chose_stays_and_nothing_is_said_too_late(chosen):
    assert chosen(ALL, before="Haswell") == "Haswell"
    assert chosen(ALL, numpy=True) is None


def test_a_machine_that_says_nothing_of_its_processor_is_left_to_openblas(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    deeprotect._choose_kernels("/nowhere")
    assert "OPENBLAS_CORETYPE" not in os.environ


@pytest.mark.skipif(
    not Path("/proc/cpuinfo").exists() or not {*Path("/proc/cpuinfo").read_text().split()} >= deeprotect._AVX512,
    reason="needs a processor with AVX-512",
)
def test_openblas_takes_them_in_a_process_that_is_told_nothing():
    program = (
        "import deeprotect, numpy\nfrom threadpoolctl import threadpool_info\n"
        "print([each['architecture'] for each in threadpool_info() if each['internal_api'] == 'openblas'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout in ("['SkylakeX']\n", "[]\n")  # [] where numpy has another library
