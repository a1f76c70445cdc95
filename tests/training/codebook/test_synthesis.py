import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from deeprotect.errors import TableError
from deeprotect.training.codebook import synthesis
from deeprotect.training.codebook.mixing import FEWEST_PEOPLE, LARGEST_SHARE, Material, mix
from deeprotect.training.codebook.synthesis import MARGIN, synthesise
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.membership.scores import nearest

TIME, CHANNELS, PEOPLE, EACH = 8, 2, 5, 12
ACTIVITIES = ("run", "still", "walk")


def recordings(seed=0):
    """Windows of five people who run, stand and walk; in order of person, then activity."""
    random, samples, activity, person = np.random.default_rng(seed), [], [], []
    for who in range(PEOPLE):
        for name, speed in zip(ACTIVITIES, (2.2, 0.0, 0.9), strict=True):
            phase = np.arange(TIME) * speed + random.uniform(0, 6, (EACH, 1))
            wave = np.stack([np.sin(phase) * (speed > 0), np.cos(phase) * speed / 2], axis=2)
            samples.append(0.5 + 0.2 * wave + 0.01 * who + random.normal(0, 0.02, (EACH, TIME, CHANNELS)))
            activity += [name] * EACH
            person += [who] * EACH
    labels = {"activity": np.array(activity, object), "person": np.array([f"p{who}" for who in person], object)}
    recording = np.repeat(np.arange(PEOPLE * 3), EACH)
    windows = LabelledWindows(np.clip(np.concatenate(samples), 0, 1), labels, recording, len(recording) * TIME, "")
    return windows, np.array(person)


def codes_of(windows, inference):
    return np.unique(windows.labels[inference].astype(str), return_inverse=True)[1]


@pytest.fixture(scope="module")
def activity_outputs():
    windows, people = recordings()
    outputs = synthesise(windows, codes_of(windows, "activity"), useful=["activity"], people=people, variants=8)
    return windows, people, outputs


@pytest.fixture(scope="module")
def person_outputs():
    windows, people = recordings()
    return windows, people, synthesise(windows, people, useful=["person"], people=people, variants=4)


def test_an_app_that_had_no_part_in_the_choice_reads_every_output_as_its_class(activity_outputs):
    windows, _, outputs = activity_outputs
    app = RandomForestClassifier(50, random_state=1).fit(windows.flat, codes_of(windows, "activity"))
    for code, samples in enumerate(outputs.samples):
        assert (app.predict(samples) == code).all()


def test_outputs_are_mixed_from_several_people_and_nobody_has_more_than_half(activity_outputs):
    _, _, outputs = activity_outputs
    assert outputs.people.min() >= FEWEST_PEOPLE
    assert outputs.share.max() <= LARGEST_SHARE + 1e-9


@pytest.mark.parametrize("people", [2, 3])
def test_all_people_of_a_class_are_in_its_outputs_where_they_are_few(people):
    windows, person = recordings()
    windows, person = windows[person < people], person[person < people]
    outputs = synthesise(windows, codes_of(windows, "activity"), useful=["activity"], people=person, variants=4)
    assert outputs.people.min() == people
    assert outputs.share.max() <= LARGEST_SHARE + 1e-9


def test_two_people_who_are_far_apart_have_outputs_between_them():
    windows, people = recordings()
    windows, people = windows[people < 2], people[people < 2]
    windows.samples[people == 1] += 0.2
    codes = codes_of(windows, "activity")
    outputs = synthesise(windows, codes, useful=["activity"], people=people, variants=4)
    for code, samples in enumerate(outputs.samples):
        first, second = (windows.flat[(codes == code) & (people == who)].mean() for who in (0, 1))
        assert ((first < samples.mean(axis=1)) & (samples.mean(axis=1) < second)).all()
        assert abs(samples.mean() - (first + second) / 2) < (second - first) / 4


def test_people_whom_apps_misread_are_mixed_in_where_the_others_are_too_few():
    windows, people = recordings()
    walks = windows.labels["activity"] == "walk"
    runs = windows.samples[windows.labels["activity"] == "run"]
    odd = walks & (people >= 2)  # three of five walk as others run
    windows.samples[odd] = runs[: odd.sum()]
    outputs = synthesise(windows, codes_of(windows, "activity"), useful=["activity"], people=people, variants=4)
    assert outputs.people.min() >= FEWEST_PEOPLE


def test_outputs_of_one_person_are_mixed_from_several_windows_none_of_which_has_more_than_half(person_outputs):
    _, _, outputs = person_outputs
    assert outputs.people.min() >= FEWEST_PEOPLE
    assert outputs.share.max() <= LARGEST_SHARE + 1e-9


def test_a_person_with_a_single_window_of_a_class_is_in_none_of_its_outputs():
    windows, people = recordings()
    walks = np.flatnonzero(windows.labels["activity"] == "walk")
    walks = walks[people[walks] > 0]
    few = walks[np.flatnonzero(people[walks] == 1)[1:]]
    material = Material.of(windows.samples, np.setdiff1d(walks, few), people)
    assert 1 not in people[material.members]
    assert set(people[material.members]) == {2, 3, 4}


def test_no_output_is_a_near_copy_of_a_window_in_it():
    windows, people = recordings()
    material = Material.of(windows.samples, np.flatnonzero(codes_of(windows, "activity") == 2), people)
    random, rows = np.random.default_rng(0), np.arange(len(material.members))
    drawn = material.mixtures(random.choice(rows, 200), rows, textures=np.full(200, 0.75), random=random)
    chosen = drawn[material.releasable(drawn, margin=MARGIN)]
    parts = windows.flat[material.members]
    assert 0 < len(chosen) < len(drawn)
    assert chosen.clearance.min() >= MARGIN
    near = material._neighbours(rows, rows, material._scaled)
    for anchor, places in enumerate(near):
        exact = mix(parts[places][None], np.eye(1, len(places)))
        assert material._clearance(exact, parts[places][None])[0] == pytest.approx(0), anchor


def crowd(people, seed=0):
    """Windows of many people who stand and walk, each a little apart from the others."""
    random = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 2 * EACH)
    walks = np.tile(np.repeat([0.0, 1.0], EACH), people)
    phase = np.arange(TIME)[None, :, None] * 0.9 + random.uniform(0, 6, (len(person), 1, 1)) + np.array([0.0, 1.5])
    own = random.normal(0, 0.02, (people, 1, CHANNELS))[person]
    noise = random.normal(0, 0.02, (len(person), TIME, CHANNELS))
    samples = np.clip(0.5 + 0.2 * walks[:, None, None] * np.sin(phase) + own + noise, 0, 1)
    labels = {"activity": np.where(walks > 0, "walk", "still").astype(object)}
    return LabelledWindows(samples, labels, np.repeat(np.arange(2 * people), EACH), len(person) * TIME, ""), person


def test_being_near_to_an_output_proves_nothing_about_having_taken_part():
    """Outputs that avoid all training windows would show that a person near one was not in training."""
    windows, people = crowd(24)
    members = people % 2 == 0
    learnt, codes = windows[members], codes_of(windows, "activity")
    outputs = synthesise(learnt, codes[members], useful=["activity"], people=people[members])
    near = np.zeros(len(people), dtype=bool)
    for code, samples in enumerate(outputs.samples):
        material = Material.of(learnt.samples, np.flatnonzero(codes[members] == code), people[members])
        for gap, scale in zip(material.gaps, material.scales, strict=True):
            near |= nearest(windows.flat * scale, samples * scale) < MARGIN * gap
    assert near[~members].any()
    assert near[members].mean() > near[~members].mean() / 3


def test_outputs_are_windows_in_range_and_differ_from_each_other(activity_outputs):
    _, _, outputs = activity_outputs
    assert outputs.samples.shape == (3, 8, TIME * CHANNELS)
    assert outputs.samples.min() >= 0
    assert outputs.samples.max() <= 1
    for samples in outputs.samples:
        between = np.linalg.norm(samples[:, None] - samples, axis=2) + 9 * np.eye(8)
        assert between.min() > 0.01


def test_outputs_are_as_rough_as_what_they_are_made_from(activity_outputs):
    windows, _, outputs = activity_outputs
    for code, samples in enumerate(outputs.samples):
        steps = np.diff(samples.reshape(-1, TIME, CHANNELS), axis=1).std()
        measured = np.diff(windows.samples[codes_of(windows, "activity") == code], axis=1).std()
        assert 0.5 < steps / measured < 2


def test_read_rates_are_shares_and_clearance_is_more_than_one(activity_outputs):
    _, _, outputs = activity_outputs
    assert outputs.classes == {"activity": ACTIVITIES}
    np.testing.assert_allclose(outputs.read["activity"].sum(axis=1), 1)
    assert np.diag(outputs.read["activity"]).min() > 0.9
    assert outputs.clearance.min() >= MARGIN - 1e-9


def test_the_same_seed_gives_the_same_outputs_and_another_seed_others(person_outputs):
    windows, people, outputs = person_outputs
    again = synthesise(windows, people, useful=["person"], people=people, variants=4)
    other = synthesise(windows, people, useful=["person"], people=people, variants=4, seed=1)
    np.testing.assert_array_equal(again.samples, outputs.samples)
    assert not np.array_equal(other.samples, outputs.samples)


def test_a_merged_code_is_read_as_its_most_frequent_class():
    windows, people = recordings()
    codes = np.where(codes_of(windows, "activity") == 1, 0, 1)  # run and walk share code 1
    walk = np.flatnonzero(windows.labels["activity"] == "walk")
    codes[walk[::2]] = -1  # so that run is the more frequent of the two
    outputs = synthesise(windows, codes, useful=["activity"], people=people, variants=4)
    assert outputs.read["activity"].argmax(axis=1).tolist() == [1, 0]


def test_joint_codes_are_read_as_both_of_their_classes():
    windows, people = recordings()
    tilted = people >= 3
    windows.samples[tilted, :, 1] += 0.15
    windows.labels["side"] = np.where(tilted, "left", "right").astype(object)
    codes = 2 * codes_of(windows, "activity") + tilted
    outputs = synthesise(windows, codes, useful=["activity", "side"], people=people, variants=4)
    assert outputs.read["activity"].argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2]
    assert outputs.read["side"].argmax(axis=1).tolist() == [1, 0] * 3


def test_a_table_of_one_person_has_outputs_that_are_no_window_of_it():
    windows, _ = recordings()
    codes = codes_of(windows, "activity")
    outputs = synthesise(windows, codes, useful=["activity"], people=np.zeros(len(codes), int), variants=4)
    assert outputs.people.min() >= FEWEST_PEOPLE
    assert all(nearest(samples, windows.flat).min() > 0.01 for samples in outputs.samples)


def test_windows_of_unknown_people_count_as_one_person():
    windows, people = recordings()
    people = np.where(people >= 3, -1, people)
    outputs = synthesise(windows, codes_of(windows, "activity"), useful=["activity"], people=people, variants=4)
    assert outputs.people.min() == 4


def test_a_single_class_has_outputs_as_well():
    windows, people = recordings()
    windows = windows[windows.labels["activity"] == "walk"]
    outputs = synthesise(
        windows, np.zeros(len(windows), int), useful=["activity"], people=people[: len(windows)], variants=4
    )
    assert outputs.read["activity"].tolist() == [[1.0]]


def test_a_class_with_too_few_windows_is_refused_by_name():
    windows, people = recordings()
    codes = codes_of(windows, "activity")
    codes[np.flatnonzero(codes == 1)[3:]] = -1
    with pytest.raises(TableError, match="only 3 training windows are activity = still; label at least 4"):
        synthesise(windows, codes, useful=["activity"], people=people, variants=4)


def test_mixtures_that_apps_misread_are_left_out_while_enough_are_read_as_meant():
    mixtures = np.arange(40.0)[:, None] / 40
    scores = np.where(np.arange(40) < 8, 1.0, -1.0)
    assert set(synthesis._choose(mixtures, scores, count=24, apart=0.0)) == set(range(8))
    few = np.where(np.arange(40) < 3, 1.0, -1.0)
    assert len(set(synthesis._choose(mixtures, few, count=24, apart=0.0))) == 24
