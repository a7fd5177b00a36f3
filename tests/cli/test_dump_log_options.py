"""The flags of `octavo dump-log`, by the rules of Kafka's parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.cli.dump_log.java_file import JavaFile
from octavo.cli.dump_log.options import FLAGS, STRING_DECODER, Options, usage
from octavo.errors import OctavoError
from tests.cli.runs import Run, octavo


@pytest.mark.parametrize(
    "arguments",
    [["--files", "a"], ["--files=a"], ["-files", "a"], ["-files=a"], ["x", "--files", "a", "-", "y"]],
    ids=" ".join,
)
def test_a_value_after_a_blank_or_an_equals_sign(arguments: list[str]) -> None:
    assert Options(arguments).files == ["a"]


def test_a_required_value_may_look_like_a_flag() -> None:
    options = Options(["--files", "--print-data-log"])
    assert options.files == ["--print-data-log"]
    assert not options.print_data_log


def test_an_optional_value_may_not_look_like_a_flag() -> None:
    options = Options(["--key-decoder-class", "--files", "a", "--value-decoder-class", "b"])
    assert options.value("key-decoder-class") == STRING_DECODER
    assert options.value("value-decoder-class") == "b"
    assert options.files == ["a"]


def test_a_flag_without_a_value_ignores_one() -> None:
    assert Options(["--deep-iteration=no"]).deep_iteration


def test_nothing_after_two_dashes_is_read() -> None:
    options = Options(["--deep-iteration", "--", "--files", "a", "--no-such-flag"])
    assert options.deep_iteration
    assert not options.has("files")


@pytest.mark.parametrize(
    ("text", "files"),
    [("a,b", ["a", "b"]), ("a,", ["a"]), (",a", ["", "a"]), ("a,,b,,", ["a", "", "b"]), (",", []), ("", [""])],
)
def test_files_are_split_as_java_splits(text: str, files: list[str]) -> None:
    assert Options([f"--files={text}"]).files == files


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--files"], "--files needs a value"),
        (["--file", "a"], "file is not a flag"),
        (["---files", "a"], "-files is not a flag"),
        (["-f"], "f is not a flag"),
    ],
)
def test_a_wrong_line(arguments: list[str], sentence: str) -> None:
    with pytest.raises(OctavoError, match=sentence):
        Options(arguments)


def test_a_wrong_value_is_found_when_it_is_used() -> None:
    options = Options(["--max-bytes", "x", "--max-message-size", "5", "--max-message-size", "6", "--files", "a"])
    with pytest.raises(OctavoError, match="--max-bytes: expected a whole number, found 'x'"):
        options.integer("max-bytes")
    with pytest.raises(OctavoError, match=r"--max-message-size has 2 values \(5, 6\)"):
        options.integer("max-message-size")


def test_defaults() -> None:
    options = Options(["--files", "a"])
    assert options.integer("max-bytes") == 2**31 - 1
    assert options.integer("max-message-size") == 5242880
    assert options.topic_decoder is None
    assert not options.deep_iteration


@pytest.mark.parametrize("flag", ["--print-data-log", "--key-decoder-class", "--offsets-decoder"])
def test_contents_imply_records(flag: str) -> None:
    options = Options([flag])
    assert options.print_data_log
    assert options.deep_iteration


def test_the_first_topic_decoder_wins() -> None:
    assert Options(["--share-group-state-decoder", "--transaction-log-decoder"]).topic_decoder == (
        "transaction-log-decoder"
    )


def test_the_usage_has_every_flag() -> None:
    text = usage()
    assert all(f"--{name}" in text for name in FLAGS)


def test_the_version_is_that_of_kafka() -> None:
    assert octavo("dump-log", "--version") == Run(0, "4.3.1\n", "")


@pytest.mark.parametrize(
    ("argument", "path", "name", "suffix"),
    [
        ("a//b///0.log", "a/b/0.log", "0.log", ".log"),
        ("a/0.log/", "a/0.log", "0.log", ".log"),
        ("./x", "./x", "x", ""),
        ("//", "/", "", ""),
        ("", "", "", ""),
        ("a.b/c", "a.b/c", "c", ""),
        ("0.log.swap", "0.log.swap", "0.log.swap", ".swap"),
    ],
)
def test_a_path_as_java_has_it(argument: str, path: str, name: str, suffix: str) -> None:
    file = JavaFile.of(argument)
    assert (str(file), file.name, file.suffix) == (path, name, suffix)


def test_an_absolute_path_keeps_its_dots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert JavaFile.of("../a/0.index").absolute == f"{tmp_path}/../a/0.index"
    assert JavaFile.of("/a/0.index").absolute == "/a/0.index"
    assert JavaFile.of("").absolute == str(tmp_path)
    assert JavaFile.of("a/0.5.index").sibling(".log") == f"{tmp_path}/a/0.log"
