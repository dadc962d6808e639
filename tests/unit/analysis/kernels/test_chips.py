from __future__ import annotations

import pytest

from ascend_sn.analysis.kernels.chips import Chip, chip_of, chips


@pytest.mark.parametrize(
    ("device_name", "name"),
    [
        ("Ascend910B3", "Ascend910B3"),
        ("ascend910b3 ", "Ascend910B3"),
        ("Ascend910B", "Ascend910B"),
        ("Ascend910A", "Ascend910A"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5"),
    ],
)
def test_a_device_name_finds_its_chip(device_name: str, name: str) -> None:
    chip = chip_of(device_name)

    assert chip is not None
    assert chip.name == name


@pytest.mark.parametrize("device_name", [None, "", "Ascend910B9", "Ascend910B3X", "NVIDIA GB300", "cpu"])
def test_a_name_that_only_resembles_an_entry_finds_none(device_name: str | None) -> None:
    assert chip_of(device_name) is None


def test_the_name_of_a_family_has_links_but_no_peak() -> None:
    chip = chip_of("Ascend910B")

    assert chip is not None
    assert (chip.peak("float16"), chip.memory_bytes_per_s) == (None, None)
    assert chip.links["HCCS"] == 28e9


@pytest.mark.parametrize("chip", chips(), ids=lambda chip: chip.name)
def test_every_entry_has_sources_and_plausible_figures(chip: Chip) -> None:
    assert chip.sources
    assert all(1e12 < flops < 1e16 for flops in chip.flops_per_s.values())
    assert chip.memory_bytes_per_s is None or 1e11 < chip.memory_bytes_per_s < 1e13
    assert all(1e9 < link < 1e12 for link in chip.links.values())


def test_the_peaks_of_ascend_chips_are_cores_times_frequency_times_8192() -> None:
    for name, cores, mhz in (("Ascend910B1", 24, 1850), ("Ascend910B2", 24, 1800), ("Ascend910B3", 20, 1800)):
        chip = chip_of(name)
        assert chip is not None
        assert chip.peak("float16") == pytest.approx(cores * mhz * 1e6 * 16**3 * 2, rel=1e-3)
        assert chip.frequency_mhz == mhz
