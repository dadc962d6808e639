"""No rule tells the user of one vendor's device to use another vendor's software."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from ascend_sn.advisor.device_texts import DEVICE_TEXTS, text_on
from ascend_sn.model.capture import DeviceKind
from ascend_sn.report.words.language import CODES, DOMAIN, LOCALE_FOLDER

pofile = pytest.importorskip("babel.messages.pofile", reason="babel reads the catalogues")

# Names of software, variables, tools and units of the chip, by the kind of device that has them.
NAMES = {
    "npu": re.compile(
        r"torch[._]npu|NPU|npu[-_]|Npu[A-Z]|HCC[LS]|CANN|\bACL|aclrt|\bAOE\b|AI Core|AI CPU|AICPU|Cube|TorchAir|ASCEND_"
        r"|Ascend\b|昇腾|gc_detect|aic_metrics|core_type|core\.type|jit_compile|msprof"
    ),
    "cuda": re.compile(r"CUDA|torch\.cuda|\bNCCL|nvidia|NVIDIA|NVLink|CUPTI|cuDNN|cuBLAS|Nsight"),
    "rocm": re.compile(r"ROCm|\bHIP|RCCL|rocm-smi|MIOpen"),
    "xpu": re.compile(r"oneCCL|oneAPI|IPEX|\bXPU"),
}

# Rules, and texts of rules, that only captures of Ascend devices can lead to: affinity.toml names calls of torch_npu
# and is matched against npu captures, and only Ascend exports say on which core a kernel ran.
ONLY_NPU = re.compile(r"rule\.r-op-2\.|rule\.r-op-3\.(?!.*(host|dtype))")

# What the page of rules says of all devices, not of the one at hand.
GENERAL = re.compile(r".*\.(why|not-when)$")


def texts(language: str) -> dict[str, str]:
    with (LOCALE_FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
        entries = [entry for entry in pofile.read_po(file) if entry.id]
    return {
        entry.id[0] if entry.pluralizable else entry.id: " ".join(entry.string) if entry.pluralizable else entry.string
        for entry in entries
    }


@pytest.mark.parametrize("kind", get_args(DeviceKind))
@pytest.mark.parametrize("language", CODES)
def test_no_text_of_a_rule_names_what_only_other_devices_have(language: str, kind: str) -> None:
    said = texts(language)
    variants = {variant for by_kind in DEVICE_TEXTS.values() for variant in by_kind.values()}
    foreign = [pattern for owner, pattern in NAMES.items() if owner != kind]
    wrong = []
    for message_id in said:
        if not message_id.startswith("rule.") or message_id in variants or GENERAL.fullmatch(message_id):
            continue
        if kind != "npu" and ONLY_NPU.match(message_id):
            continue
        chosen = text_on(message_id, {kind})
        wrong += [(chosen, found[0]) for pattern in foreign if (found := pattern.search(said[chosen]))]
    assert wrong == []


def test_of_several_kinds_of_devices_the_text_that_holds_on_any_is_said() -> None:
    assert text_on("rule.r-opt-1.advice", {"npu"}) == "rule.r-opt-1.advice-npu"
    assert text_on("rule.r-opt-1.advice", {"cpu"}) == "rule.r-opt-1.advice"
    assert text_on("rule.r-opt-1.advice", {"npu", "cuda"}) == "rule.r-opt-1.advice"
    assert text_on("rule.r-opt-1.advice", {None}) == "rule.r-opt-1.advice"
    assert text_on("a text of a user's rule", {"npu"}) == "a text of a user's rule"


def test_every_kind_is_one_and_every_text_exists() -> None:
    known = texts("en")
    for message_id, by_kind in DEVICE_TEXTS.items():
        assert message_id in known
        assert set(by_kind) <= set(get_args(DeviceKind))
        assert set(by_kind.values()) <= set(known)
