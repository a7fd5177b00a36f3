"""Decompresses one lz4 block with cramjam, but without its second attempt at broken blocks.

If a block cannot be decompressed, cramjam takes its first four bytes for a size and tries the rest. The output is then
not the block's content, and the result does not show it. The first bytes of almost every block rule that out; any other
block is decompressed again by the library's frame decoder, which makes no second attempt.
"""

from __future__ import annotations

from struct import Struct

from cramjam import lz4

from octavo.format.compression.verdict import invalid

_PREFIX = Struct("<IB")  # what the second attempt would read: a size, then the first sequence's token
_UINT32 = Struct("<I")
# A frame with one block of up to 4 MiB and no checksums.
_FRAME_HEADER = bytes.fromhex("04224d18607073")
_END_MARK = bytes(4)

_decompress_block = lz4.decompress_block_into


def decompress_block(block: memoryview, out: memoryview, position: int) -> int:
    """Decompress a block into `out`, which has room for the largest block; returns the number of bytes written."""
    try:
        size: int = _decompress_block(block, out, len(out))
        if len(block) >= _PREFIX.size:
            prefix, token = _PREFIX.unpack_from(block)
            if size <= prefix <= len(out) and _begins_a_block(block, token):
                size = _decompress_as_frame(block, out)
    except BaseException as error:
        raise invalid(error, "lz4", position) from None
    return size


def _begins_a_block(block: memoryview, token: int) -> bool:
    """Whether a block could begin at byte 4: its first match must lie within the literals before it."""
    literals = token >> 4
    offset_at = _PREFIX.size + literals
    if literals == 15 or len(block) < offset_at + 2:
        return True  # a long or final run of literals: not worth checking
    offset = block[offset_at] | block[offset_at + 1] << 8
    return offset <= literals


def _decompress_as_frame(block: memoryview, out: memoryview) -> int:
    frame = b"".join((_FRAME_HEADER, _UINT32.pack(len(block)), block, _END_MARK))
    size: int = lz4.decompress_into(frame, out)
    return size
