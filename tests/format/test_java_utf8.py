"""Malformed UTF-8 as Java's String shows it; the expectations were printed by Java 17."""

from __future__ import annotations

import pytest

from octavo.format.java.utf8 import decode_utf8


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("6b", "k"),
        ("c3a9f09f9880", "é😀"),
        ("eda080", "�"),
        ("eda0", "�"),
        ("eda041", "�A"),
        ("edbfbfeda080", "��"),
        ("ed", "�"),
        ("ed41", "�A"),
        ("c080", "��"),
        ("e08080", "���"),
        ("e282", "�"),
        ("e28241", "�A"),
        ("f4908080", "����"),
        ("f5808080", "����"),
        ("f0808080", "����"),
        ("f09f98", "�"),
        ("f09f9841", "�A"),
        ("80ff", "��"),
        ("efbfbf", "\uffff"),
        ("", ""),
    ],
)
def test_malformed_bytes_are_replaced_as_in_java(data: str, text: str) -> None:
    assert decode_utf8(bytes.fromhex(data)) == text
