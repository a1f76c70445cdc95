import numpy as np
import pytest
from tests.recordings import promises

from deeprotect.privacy.channel.design import design
from deeprotect.training.codebook.coder import SCORE_BITS
from deeprotect.training.codebook.joint_classes import ABSTAIN, Joint
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labels import Targets


def test_a_joint_class_without_a_code_goes_to_the_one_that_agrees_most():
    rare = Targets(np.repeat([[0, 0], [1, 1], [1, 0]], [20, 10, 1], axis=0), (np.arange(2), np.arange(2)))
    assert decided(Joint.of(rare).coding((2, 2), abstaining=False), [[1, 0, 0, 1], [0, 1, 0, 1]]) == [0, 1]


def decided(coding, scores):
    """Codes of scores in nats."""
    return coding.decide(np.array(scores, dtype=np.float64).T * 2**SCORE_BITS, None).tolist()


def joint(*counts):
    """Every combination of so many classes, ten windows each."""
    every = np.stack(np.unravel_index(np.arange(np.prod(counts)), counts), axis=1)
    return Joint.of(Targets(np.repeat(every, 10, axis=0), tuple(np.arange(count) for count in counts)))


def test_a_window_that_nobody_can_name_gets_a_code_of_its_own():
    coding = joint(5).coding((5,), abstaining=True)
    sure, torn, blank = np.eye(5)[0] * 9, [1.0, 1.1, 1.0, 1.0, 0.0], np.zeros(5)
    assert decided(coding, [sure, torn, blank]) == [0, 5, 5]
    assert decided(joint(5).coding((5,), abstaining=False), [sure, torn]) == [0, 1]


def test_one_rejected_inference_rejects_the_window():
    coding = joint(2, 4).coding((2, 4), abstaining=True)
    certain, torn = np.eye(4)[1] * 9, np.zeros(4)
    even = np.zeros(2)  # one of two classes always has half
    assert decided(coding, [[*even, *certain], [*even, *torn]]) == [1, 8]


@pytest.mark.parametrize("classes", [2, 3])
def test_of_few_classes_one_always_has_a_third(classes):
    assert joint(classes).coding((classes,), abstaining=True).reject is None


@pytest.fixture(scope="module")
def naming_people(short_recordings, gym_policy):
    """Who it is may be known, what they do may not: five codes."""
    inferences = {"useful": ["person"], "sensitive": ["activity"]}
    policy = gym_policy.vary(inferences=inferences, privacy={"guarantee": "named", "epsilon": 2.0})
    models = FittedModels(short_recordings(1))
    return {each: learn(models, policy.vary(privacy={"guarantee": each})) for each in ("named", "ldp")}


def test_a_named_promise_has_a_reject_option_and_ldp_has_none(naming_people):
    named, ldp = naming_people["named"].mechanism, naming_people["ldp"].mechanism
    assert named.codes == (*ldp.codes, ABSTAIN) == (*ldp.outputs, ABSTAIN)
    assert named.outputs == ldp.outputs
    (promise,) = named.promises
    assert (len(promise.classes), len(promise.low), promise.recordings) == (3, 6, 75)
    assert named.real_epsilon <= 2.0


def test_rejected_windows_have_a_code_in_the_bundle(naming_people, gym_windows):
    one, other = np.random.default_rng(0).integers(len(gym_windows), size=(2, 4000))
    between = (gym_windows.flat[one] + gym_windows.flat[other]) / 2  # half of one person, half of another
    assert set(naming_people["named"].encode(between)[:, 0]) == {0, 1, 2, 3, 4, 5}


def test_a_reject_option_saves_noise_where_a_rare_class_is_named_at_random():
    """Forty recordings of a rare class, spread over six codes, may lie anywhere; in one code they say where they are."""
    often, many = np.full((2, 6), 300), [[400, 400, 40]]
    spread, gathered = np.array([[12, 1, 9, 2, 10, 6]]), np.array([[0, 0, 0, 0, 0, 0, 40]])
    plain = promises(np.vstack([often, spread]), recordings=many)
    abstaining = promises(np.vstack([np.pad(often, ((0, 0), (0, 1))), gathered]), recordings=many)
    costs = 1 - np.eye(6)
    without = design(costs, np.full(6, 1 / 6), promises=plain)
    with_it = design(np.vstack([costs, np.full((1, 6), 5 / 6)]), [*[0.16] * 6, 0.04], promises=abstaining)
    assert with_it.expected_cost < without.expected_cost + 0.01
