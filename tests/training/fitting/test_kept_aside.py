"""Whole recordings kept aside: chosen by labels and seed, seen by no choice, and counted as they are released."""

from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from deeprotect import Protector
from deeprotect.privacy.channel.beyond import Excess, apart, needed
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.signals import Hold
from deeprotect.training.fitting import kept_aside as counting
from deeprotect.training.fitting.kept_aside import SlotReadings, for_new_people, kept_aside, units_of
from deeprotect.training.labelled_windows import MISSING, LabelledWindows, place_in, read_windows
from deeprotect.training.splits import ONE_WINDOW


@dataclass
class ReadsTheFirstSample:
    """A coder whose evidence is which of two codes a window's first sample says."""

    hold: Hold = ONE_WINDOW
    scripts: Scripts | None = None
    seen: int = 0

    @property
    def mechanism(self):
        return SimpleNamespace(codes=("a", "b"), scripts=self.scripts)

    def encode(self, private):
        self.seen += len(private)
        return np.eye(2, dtype=np.int64)[private[:, 0].astype(int)]

    def pool(self, evidence, counts):
        sums = np.add.reduceat(evidence, np.cumsum(counts) - counts)
        if self.scripts is None:
            return sums.argmax(axis=1)[:, None].astype(float)
        whole = evidence.reshape(len(counts), self.scripts.slots, -1, 2).sum(axis=2)
        return self.scripts.likeliest(whole)[:, None].astype(float)


def windows(read, labels, lengths):
    """The coder's class of each window, its label, and the windows of each recording."""
    recording = np.repeat(np.arange(len(lengths)), lengths)
    label = np.array([None if each == "-" else each for each in labels], dtype=object)
    samples = np.array([int(each) for each in read], dtype=float)[:, None, None]
    return LabelledWindows(samples, {"what": label}, recording, len(label), "0" * 64, position=place_in(recording))


def test_a_window_is_misread_where_its_code_is_not_its_label_or_it_has_none():
    found = SlotReadings.of(ReadsTheFirstSample(), windows("0011", "ab-b", [3, 1]), ["what"])
    assert found.misread.tolist() == [False, True, True, False]
    assert found.truth.tolist() == [0, 1, MISSING, 1]
    assert found.recording.tolist() == [0, 0, 0, 1]


def test_a_label_without_a_code_of_its_own_is_misread_whatever_is_read():
    assert SlotReadings.of(ReadsTheFirstSample(), windows("01", "cc", [2]), ["what"]).misread.all()


def test_a_held_draw_is_read_rightly_where_most_windows_that_it_listens_to_are_of_its_code():
    coder = ReadsTheFirstSample(Hold(3, 3))
    found = SlotReadings.of(coder, windows("0011101111", "aabbbaa---", [7, 3]), ["what"])
    assert found.misread.tolist() == [False, False, True, True]  # a short last episode counts, and one without labels
    assert found.truth.tolist() == [0, 1, 0, MISSING]
    assert found.first.tolist() == [0, 3, 6, 7]


def test_only_windows_that_a_draw_listens_to_are_looked_at():
    coder = ReadsTheFirstSample(Hold(3, 1))
    found = SlotReadings.of(coder, windows("101", "bab", [3]), ["what"])
    assert coder.seen == 1
    assert not found.misread.any()  # the one in the middle


def test_a_script_is_counted_slot_by_slot_as_one_draw():
    scripts = Scripts(2, 3, 1, 2)
    coder = ReadsTheFirstSample(Hold(6, 6), scripts)
    found = SlotReadings.of(coder, windows("000011111111", "aabbbbbbbb--", [6, 6]), ["what"])
    assert found.misread.tolist() == [False, True, False, False, False, True]
    assert found.draw.tolist() == [0, 0, 0, 1, 1, 1]
    assert list(found.means(found.recording, length=1, tau=Fraction(1, 2))) == [Fraction(1, 6), Fraction(1, 6)]
    assert list(found.means(found.recording, length=None, tau=Fraction(1, 2))) == [Fraction(1, 2), Fraction(1, 2)]


def test_people_are_means_over_their_recordings_and_no_stretch_leaves_one():
    found = SlotReadings.of(ReadsTheFirstSample(), windows("0101", "aaaa", [2, 2]), ["what"])
    assert list(found.means(np.zeros(4, int), length=2, tau=Fraction(1, 2))) == [Fraction(1, 2)]
    assert list(found.means(np.zeros(4, int), length=1, tau=Fraction(1, 2))) == [Fraction(1, 4)]


def kept_of(each, policy):
    return sorted(set(each.recording[kept_aside(each, policy)].tolist()))


def test_which_recordings_are_kept_follows_from_labels_and_the_seed_alone(gym_windows, gym_policy, short_recordings):
    cut = short_recordings(2)
    other = replace(cut, samples=np.random.default_rng(0).random(cut.samples.shape))
    assert kept_of(cut, gym_policy) == kept_of(other, gym_policy)
    assert kept_of(cut, gym_policy) != kept_of(cut, gym_policy.vary(training={"seed": 1}))


def test_about_a_fifth_of_each_label_is_kept_and_the_others_show_it_too(gym_policy, short_recordings):
    cut = short_recordings(2)
    chosen = kept_aside(cut, gym_policy)
    recordings = len(set(cut.recording.tolist()))
    assert len(set(cut.recording[chosen].tolist())) == -(-recordings // 5)
    for name in ("activity", "person"):
        for label in cut.classes(name):
            of_label = cut.labels[name] == label
            assert 0.1 <= chosen[of_label].mean() <= 0.3
    assert not {*cut.recording[chosen]} & {*cut.recording[~chosen]}


def test_a_table_that_can_spare_as_many_as_a_bound_needs_does_and_a_tiny_one_spares_none(gym_policy, gym_windows):
    assert counting._wanted(4) == 0
    assert counting._wanted(5) == 1
    assert counting._wanted(35) == 7
    assert counting._wanted(36) == counting._wanted(60) == needed() == 12
    assert counting._wanted(140) == 28
    few = gym_windows[gym_windows.recording < 4]
    assert not kept_aside(few, gym_policy).any()


def test_people_are_kept_where_they_are_neither_useful_nor_sensitive(gym_policy, gym_windows):
    assert not for_new_people(gym_policy)
    new = gym_policy.vary(inferences={"sensitive": []})
    assert for_new_people(new)
    assert units_of(gym_windows, new) is gym_windows.people


def test_recordings_kept_aside_teach_nothing_and_choose_nothing(gym_table, gym_policy):
    """The bundle learns the same for any samples of these; only the counts differ."""
    policy = gym_policy.vary(training={"max_epochs": 1}, privacy={"mechanism": "auto"})
    every = read_windows(gym_table, policy, tails=True)
    rows = np.repeat(kept_aside(every, policy), 8)[: gym_table.num_rows]
    assert rows.any()
    changed = gym_table.set_column(0, "acc_x", [np.where(rows, 3.0, gym_table["acc_x"].to_numpy())])
    first, second = (Protector.train(policy, table).bundle for table in (gym_table, changed))
    for part in ("mechanism", "encoder", "decoder", "feature_extractor"):
        assert getattr(first.manifest, part) == getattr(second.manifest, part)
    assert first.files == second.files
    one, other = (bundle.manifest.results[0] for bundle in (first, second))
    assert one.useful["activity"]["clean"] == other.useful["activity"]["clean"]
    assert one.sensitive["person"]["raw"] == other.sensitive["person"]["raw"]
    assert first.manifest.kept != second.manifest.kept


def test_padded_tails_are_counted_though_nothing_is_learnt_from_them(gym_table, gym_policy):
    """Recordings of 235 rows: 29 windows of eight, and one of three rows and their copies."""
    policy, table = gym_policy.vary(training={"max_epochs": 1}), gym_table.filter(np.arange(3600) % 240 < 235)
    every = read_windows(table, policy, tails=True)
    assert len(every) == 15 * 30
    assert len(read_windows(table, policy)) == 15 * 29
    bundle = Protector.train(policy, table).bundle
    assert bundle.manifest.training.windows == 15 * 29
    kept = every[kept_aside(every, policy)]
    read = SlotReadings.of(bundle, kept, policy.inferences.useful)
    assert len(read.misread) == 3 * 30
    means = list(read.means(kept.recording, length=1, tau=apart(bundle.mechanism)))
    assert list(Excess.of(means).counts) == bundle.manifest.kept.counts["draw"]


def test_of_a_table_with_gaps_labelled_draws_are_counted_by_themselves_as_well(gym_table, gym_policy):
    gap = np.arange(3600) % 240 >= 160
    label = np.where(gap, None, gym_table["activity"].to_numpy(zero_copy_only=False))
    table = gym_table.set_column(2, "activity", [label.tolist()])
    certificate = Protector.train(gym_policy.vary(training={"max_epochs": 15}), table).bundle.certificate["beyond"]
    assert certificate["draw"]["mean"] > 0.3
    assert certificate["labelled"]["mean"] < 0.1


def test_noise_on_features_has_no_codes_and_nothing_is_counted(gym_table, gym_policy):
    bundle = Protector.train(gym_policy.vary(privacy={"mechanism": "baseline"}), gym_table).bundle
    assert bundle.manifest.kept is None
    assert bundle.certificate["beyond"] is None
    assert "was not counted" in Protector(bundle).describe()


@pytest.mark.parametrize("hold", [Hold(), Hold(4, 2)])
def test_the_readings_are_what_the_shipped_bundle_releases(gym_table, gym_policy, hold):
    """Codes of the counts are those that the release draws from."""
    privacy = {} if hold.windows == 1 else {"every": "3.2 s", "listen": 2}
    policy = gym_policy.vary(training={"max_epochs": 1}, privacy=privacy)
    bundle = Protector.train(policy, gym_table).bundle
    assert bundle.hold == hold
    kept = bundle.manifest.kept
    assert kept.slots["draw"] == 1
    assert sum(kept.counts["recording"]) == 3
