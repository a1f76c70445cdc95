"""Planted bugs by which one window touches another.

An audit that releases one window again and again shows ε ≥ 0 to 2.1 of a claimed 2; of nine, six passed the laws
of a release, too. Only the last two stood out at times, when a whole batch came out alike and counted as many runs.
"""

from collections.abc import Callable

import numpy as np
from tests.mutations import checks
from tests.mutations.bug import Bug, Patch

from deeprotect.bundle import Bundle
from deeprotect.bundle.network import MOST_ROWS
from deeprotect.privacy.channel.discrete_channel import ExactDraw
from deeprotect.signals.schema import Schema

BEYOND = 8_192  # windows; networks were run on as many at a time once


def first_code_for_all(patch: Patch) -> None:
    """One window released as often as there are windows in the batch."""
    _after_encoding(patch, lambda code: np.repeat(code[:1], len(code), axis=0))


def last_code_for_its_neighbour(patch: Patch) -> None:
    _after_encoding(patch, lambda code: np.concatenate([code[:-2], np.repeat(code[-1:], len(code[-2:]), axis=0)]))


def first_code_beyond_the_first_block(patch: Patch) -> None:
    """Sound as long as a batch is one block."""
    _after_encoding(patch, lambda code: _alike_from(code, MOST_ROWS, like=code[:1]))


def one_code_in_the_second_block(patch: Patch) -> None:
    """Sound on any batch of up to 8193 windows, and nothing comes from the first block."""
    _after_encoding(patch, lambda code: _alike_from(code, BEYOND, like=code[BEYOND : BEYOND + 1]))


def codes_centred_on_the_batch(patch: Patch) -> None:
    _after_encoding(patch, lambda code: code - np.median(code, axis=0))


def last_batch_remembered(patch: Patch) -> None:
    """Half of each code is what the batch before ended with: a filter that was not reset."""
    state = {}

    def filtered(code):
        mixed = (code + state.get("last", code[:1])) / 2
        state["last"] = code[-1:]
        return mixed

    _after_encoding(patch, filtered)


def places_told(patch: Patch) -> None:
    """Codes that look at no other window, and tell where in its block theirs stood: a block ends where others do."""
    _after_encoding(patch, lambda code: code + np.arange(len(code))[:, None] % 2)


def sizes_told(patch: Patch) -> None:
    """The last bit of a code tells how many rows its block left over, as rounding in products may."""
    _after_encoding(patch, lambda code: np.nextafter(code, 9.0) if len(code) % 4 == 1 else code)


def borders_crossed(patch: Patch) -> None:
    """A window whose first reading is bridged from the last one before its border: it informs two draws."""
    scale = Schema.scale

    def bridged(self, samples):
        joined = samples.copy()
        joined[1:, 0] = (samples[:-1, -1] + samples[1:, 0]) / 2
        return scale(self, joined)

    patch.setattr(Schema, "scale", bridged)


def decoder_adds_the_mean(patch: Patch) -> None:
    """Post-processing, so LDP holds; but a released window is no longer made from its own draw alone."""
    _after_decoding(patch, lambda windows: 0.9 * windows + 0.1 * windows.mean(axis=0))


def decoder_adds_a_trace_of_the_mean(patch: Patch) -> None:
    """So little that nobody would see it in a picture."""
    _after_decoding(patch, lambda windows: windows + 1e-9 * windows.mean(axis=0))


def one_word_for_all(patch: Patch) -> None:
    """A channel that draws one word for a batch: windows with equal codes come out equal, and others with them."""
    draw = ExactDraw.__call__
    patch.setattr(ExactDraw, "__call__", lambda self, index, words: draw(self, index, words[:1].repeat(len(index))))


def _alike_from(code: np.ndarray, row: int, *, like: np.ndarray) -> np.ndarray:
    return np.concatenate([code[:row], np.repeat(like, len(code[row:]), axis=0)])


def _after_encoding(patch: Patch, change: Callable[[np.ndarray], np.ndarray]) -> None:
    encode = Bundle.encode
    patch.setattr(Bundle, "encode", lambda self, private: change(encode(self, private)))


def _after_decoding(patch: Patch, change: Callable[[np.ndarray], np.ndarray]) -> None:
    decode = Bundle.decode
    patch.setattr(Bundle, "decode", lambda self, noisy_code: change(decode(self, noisy_code)))


APART = (checks.ISOLATION_SAMPLES, checks.ISOLATION_CHANNEL)
BUGS = (
    Bug("first code for all windows", first_code_for_all, (*APART, checks.AUDIT_SAMPLES, checks.AUDIT_CHANNEL)),
    Bug("last code for its neighbour, too", last_code_for_its_neighbour, APART),
    Bug("first code for all beyond the first block", first_code_beyond_the_first_block, APART),
    Bug("one code for the second block", one_code_in_the_second_block, APART),
    Bug("codes centred on the batch", codes_centred_on_the_batch, (checks.ISOLATION_SAMPLES,)),
    Bug("last batch remembered", last_batch_remembered, (checks.ISOLATION_SAMPLES,)),
    Bug("an encoder that tells places", places_told, (*APART, checks.OWN_CODE)),
    Bug("an encoder that tells the size of its block", sizes_told, (checks.ISOLATION_SAMPLES,)),
    Bug("a window that crosses its border", borders_crossed, (*APART, checks.OWN_CODE)),
    Bug("decoder adds the batch's mean", decoder_adds_the_mean, APART),
    Bug("decoder adds a trace of the batch's mean", decoder_adds_a_trace_of_the_mean, (checks.ISOLATION_CHANNEL,)),
    Bug("one word for all windows of a channel", one_word_for_all, (checks.AUDIT_CHANNEL,)),
)
