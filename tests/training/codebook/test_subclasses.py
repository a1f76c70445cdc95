"""Owner or other: the coder recognises people, and a threshold decides."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.bundle.network import EpisodeEncoder, Network
from deeprotect.errors import TableError
from deeprotect.signals import Hold
from deeprotect.training.codebook.codebook import THRESHOLD_BITS, Subclasses, learn_codes
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import MISSING, Targets
from studies.reproduction.all_owners import owner_codes

OWNER = "p1"


def owned(windows, name=OWNER):
    labels = np.where(windows.labels["person"] == name, "owner", "other").astype(object)
    return replace(windows, labels={"owner": labels, "activity": windows.labels["activity"]})


@pytest.fixture(scope="module")
def policy(gym_policy):
    inferences = {"useful": ["owner"], "sensitive": ["activity"]}
    costs = {"owner": {"other": {"owner": 0.25}}}
    privacy = {"guarantee": "ldp", "epsilon": 5.0}
    return gym_policy.vary(inferences=inferences, privacy=privacy, training={"cost_matrix": costs})


@pytest.fixture(scope="module")
def learnt(gym_windows, policy):
    return learn_codes(owned(gym_windows), policy, hold=Hold(3, 3))


def useful_of(windows):
    return Targets.read(windows.targets(["owner"]), len(windows))


@pytest.mark.long
def test_where_one_class_is_one_persons_alone_the_coder_tells_all_people_apart(gym_windows, learnt):
    assert learnt.subclasses is not None
    assert learnt.coder.outputs == 5
    assert learnt.joint.names == ("other", "owner")
    assert learnt.subclasses.classes.tolist() == [0, 1, 0, 0, 0]
    assert learnt.subclasses.owner == 1


@pytest.mark.parametrize("hold", [Hold(), Hold(3, 3), Hold(3, 2)])
def test_the_shipped_layers_decide_as_the_cross_fitted_codes_were_decided(gym_windows, learnt, hold):
    """The coder's scores of every window through the layers, against the same scores through the book."""
    book = learnt.book(hold)
    shipped = EpisodeEncoder.of(Network(book.encoder.layers[-2:], 5), hold, None)
    counts = np.unique(learnt.windows.episodes(hold), return_counts=True)[1]
    heard, looked = hold.heard(counts)
    codes = shipped.pool(shipped.encode(learnt.scores[heard]), looked)[:, 0]
    assert np.repeat(codes, counts).tolist() == book.coded.tolist()


def test_the_owner_is_known_on_windows_that_the_coder_did_not_see(gym_windows, learnt):
    book, own = learnt.book(Hold(3, 3)), gym_windows.labels["person"] == OWNER
    assert np.mean(book.coded[own] == 1) > 0.9
    assert np.mean(book.coded[~own] == 0) > 0.9


def test_a_protector_of_it_is_an_ordinary_channel_of_two_codes(gym_windows, policy, learnt):
    models = FittedModels(learnt.windows, _codes={(): learnt})
    protector = learn(models, policy)
    assert protector.mechanism.codes == ("other", "owner")
    assert protector.mechanism.certificate()["ldp_epsilon"] <= 5.0
    assert set(np.unique(protector.encode(gym_windows.flat))) <= {0.0, 1.0}


@pytest.mark.long
def test_one_coder_of_people_serves_every_owner(gym_windows, policy, gym_policy, learnt):
    asked = gym_policy.vary(inferences={"useful": ["person"], "sensitive": ["activity"]}, privacy={"guarantee": "ldp"})
    people = learn_codes(gym_windows, asked)
    for name in ("p0", "p4"):
        found = owner_codes(people, owned(gym_windows, name), policy)
        assert found.coder is people.coder
        own = gym_windows.labels["person"] == name
        assert np.mean(found.book(Hold()).coded == own) > 0.9


@pytest.mark.long
def test_a_class_of_several_people_is_nobodys_own(gym_windows, gym_policy):
    asked = gym_policy.vary(inferences={"useful": ["person"], "sensitive": ["activity"]}, privacy={"guarantee": "ldp"})
    pair = np.where(np.isin(gym_windows.labels["person"].astype(str), ["p0", "p1"]), "owner", "other").astype(object)
    windows = replace(gym_windows, labels={"owner": pair, "activity": gym_windows.labels["activity"]})
    assert Subclasses.of(windows.who, useful_of(windows), gym_policy) is None
    with pytest.raises(TableError, match="not one person against all others"):
        owner_codes(learn_codes(gym_windows, asked), windows, asked.vary(inferences={"useful": ["owner"]}))


def test_without_a_column_of_people_or_with_a_person_in_both_classes_the_classes_themselves_are_learnt(
    gym_windows, policy
):
    windows = owned(gym_windows)
    nameless = replace(windows, person=None)
    assert Subclasses.of(nameless.who, useful_of(nameless), policy) is None
    mixed = windows.labels["owner"].copy()
    mixed[np.flatnonzero(gym_windows.labels["person"] == "p2")[0]] = "owner"
    both = replace(windows, labels={**windows.labels, "owner": mixed})
    assert Subclasses.of(both.who, useful_of(both), policy) is None


def test_outputs_are_made_from_the_owner_and_about_as_many_others(gym_windows, learnt):
    own = gym_windows.labels["person"][learnt.subclasses.balanced] == OWNER
    assert own.sum() == (gym_windows.labels["person"] == OWNER).sum()
    assert own.sum() <= (~own).sum() <= own.sum() + 10
    others = set(gym_windows.labels["person"][learnt.subclasses.balanced][~own].tolist())
    assert others == {"p0", "p2", "p3", "p4"}


@given(
    st.lists(st.tuples(st.integers(-900, 900), st.sampled_from([0, 1, MISSING])), min_size=1, max_size=40),
    st.floats(0.05, 1.0),
)
def test_no_threshold_on_the_grid_of_margins_costs_less(rows, alarm):
    spread = 1 << (THRESHOLD_BITS + 2)
    margins = np.array([spread * margin for margin, _ in rows], dtype=float)
    truth = np.array([label for _, label in rows])
    people = Targets(np.zeros((len(rows), 1), dtype=np.int64), (np.array(["a", "b", "c"]),))
    some = Subclasses(people, np.array([1, 0, 0]), 0, np.array([[0.0, alarm], [1.0, 0.0]]))

    def cost(threshold):
        read = (margins < threshold).astype(int)
        known = truth != MISSING
        return np.where(truth == 1, 1 - read, alarm * read)[known].sum()

    chosen = some.threshold(margins, truth)
    assert chosen % (1 << THRESHOLD_BITS) == 0
    candidates = [*(margins - spread / 2), *(margins + spread / 2)]
    assert cost(chosen) <= min(map(cost, candidates)) + 1e-9
