"""Rows as Arrow IPC."""

import io
import random

import numpy as np
import pyarrow as pa
import pytest
from tests.gateway.wire.windows import T0, released, schema

from deeprotect.errors import WireError
from deeprotect.gateway.wire import arrow_ipc
from deeprotect.gateway.wire.arrow_ipc import END, ArrowStream

POLICY = schema()


def table(rows=4, **more):
    columns = {"time": np.arange(rows) + T0} | {
        name: np.linspace(0, 1, rows) + k for k, name in enumerate(POLICY.names)
    }
    return pa.table(columns | more).replace_schema_metadata({"session": "s1"})


def stream(of, *, options=None, opened=pa.ipc.new_stream):
    sink = io.BytesIO()
    with opened(sink, of.schema, options=options) as writer:
        writer.write_table(of, max_chunksize=3)
    return sink.getvalue()


def read(body):
    return arrow_ipc.read(body, POLICY, {})


def by_channel(message):
    return {name: each.values[:, k].tolist() for each in message.readings for k, name in enumerate(each.channels)}


@pytest.mark.parametrize("opened", [pa.ipc.new_stream, pa.ipc.new_file])
def test_a_stream_or_a_file_of_several_batches_is_read_whole(opened):
    message = read(stream(table(), opened=opened))
    assert message.session == "s1"
    assert by_channel(message) == {name: table()[name].to_pylist() for name in POLICY.names}
    assert message.readings[0].times_ns.tolist() == [T0 + k for k in range(4)]


def test_time_may_be_stamps_of_any_unit():
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)):
        times = pa.array([T0 // scale] * 4).cast(pa.timestamp(unit, tz="UTC"))
        message = read(stream(table(time=times)))
        assert message.readings[0].times_ns.tolist() == [T0 // scale * scale] * 4


def test_other_columns_are_not_looked_at_and_holes_leave_readings_out():
    message = read(stream(table(acc_x=[None, 1.0, 2.0, float("nan")], secret=["a", "b", "c", "d"])))
    assert {each.channels[0]: len(each) for each in message.readings} == {"acc_x": 2, "gyro_x": 4}


def test_a_release_is_read_back_as_it_was_written():
    window = released(read(stream(table())), POLICY)
    found = pa.ipc.open_stream(arrow_ipc.write(window)).read_all()
    assert found["time"].cast(pa.int64()).to_pylist() == [T0 + k for k in range(4)]
    assert found.schema.metadata[b"session"] == b"12"
    again = read(arrow_ipc.write(window))
    assert by_channel(again) == {name: window.values[:4, k].tolist() for k, name in enumerate(POLICY.names)}


def test_one_stream_carries_many_windows_with_their_own_numbers():
    sent = ArrowStream()
    message = read(stream(table()))
    body = b"".join(sent.write(released(message, POLICY, number=number)) for number in range(5)) + END
    reader = pa.ipc.open_stream(body)
    numbers = [metadata[b"message"] for _, metadata in reader.iter_batches_with_custom_metadata()]
    assert numbers == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ARROW1\0\0",
        b"{}",
        stream(table())[:-100],
        stream(table(), options=pa.ipc.IpcWriteOptions(compression="zstd")),
        stream(table(), options=pa.ipc.IpcWriteOptions(compression="lz4")),
        stream(table().drop_columns("time")),
        stream(table(time=[1.5] * 4)),
        stream(table(time=[None, 1, 2, 3])),
        stream(table(time=[-1, 1, 2, 3])),
        stream(table(time=pa.array([2**63] * 4, type=pa.uint64()))),
        stream(table(time=pa.array([10**12] * 4).cast(pa.timestamp("s")))),
        stream(table(acc_x=["a", "b", "c", "d"])),
        stream(table(acc_x=[float("inf"), 1, 2, 3])),
        stream(table(acc_x=pa.nulls(4))),
        stream(table(secret=pa.array(["a"] * 4).dictionary_encode())),
        stream(pa.table([pa.array([T0]), pa.array([1.0]), pa.array([1.0])], names=["time", "acc_x", "acc_x"])),
        stream(table().replace_schema_metadata({"session": b"\xff"})),
    ],
)
def test_what_is_no_plain_arrow_is_refused_in_one_line(body):
    with pytest.raises(WireError) as refused:
        read(body)
    assert "\n" not in str(refused.value)


def test_a_batch_that_claims_more_rows_than_it_has_bytes_for_is_refused():
    nothing = pa.Array.from_buffers(pa.null(), (1 << 31) - 1, [None])
    batch = pa.RecordBatch.from_arrays([nothing, nothing], names=["time", "acc_x"])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    assert len(sink.getvalue()) < 1000
    with pytest.raises(WireError):
        read(sink.getvalue())


def test_damaged_bytes_are_read_or_refused_and_nothing_else():
    whole, chance, refused = stream(table()), random.Random(5), 0
    for _ in range(5000):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read(bytes(damaged[: chance.randint(len(damaged) // 2, len(damaged))]))
        except WireError:
            refused += 1
    assert refused > 1000
