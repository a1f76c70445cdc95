import numpy as np
import pytest
import torch

from deeprotect.training.codebook.coder import (
    BINS,
    FILTERS,
    GRID,
    LONGEST,
    MOST_BINS,
    STATISTICS,
    AmplitudeSpectrum,
    Coder,
    PiecewiseLinearEncoding,
    SummaryStatistics,
    TimeConvolution,
)
from deeprotect.training.export import root_of

CHANNELS = 2


@pytest.mark.parametrize("samples", [1, 6, 50])
def test_a_coder_takes_windows_of_any_length(samples):
    windows = torch.rand(40, samples * CHANNELS)
    scores = Coder(windows, CHANNELS, classes=3)(windows[:4])
    assert scores.shape == (4, 3)


@pytest.mark.parametrize(("samples", "layers"), [(6, 2), (LONGEST, 2), (50, 2), (128, 3), (200, 4)])
def test_a_window_is_halved_as_often_as_it_takes(samples, layers):
    coder = Coder(torch.rand(40, samples * CHANNELS), CHANNELS, classes=3)
    assert len(coder.convolutions) == layers
    found = coder._convolved(torch.rand(4, samples, CHANNELS))
    length, rest = divmod(found.shape[1] - STATISTICS * FILTERS * (samples > LONGEST), FILTERS)
    assert rest == 0
    assert length <= LONGEST


def test_statistics_have_a_slope_where_nothing_moves():
    still = torch.zeros(2, 5, 3, requires_grad=True)
    SummaryStatistics()(still).sum().backward()
    assert still.grad is not None
    assert still.grad.isfinite().all()


def test_a_level_fills_one_bin_after_the_other():
    encoding = PiecewiseLinearEncoding(torch.linspace(-2, 2, BINS * 10 + 1)[:, None])
    filled = encoding(torch.tensor([[-3.0], [-1.96], [-1.0], [0.0], [1.0], [1.96], [3.0]]))[:, 1:].sum(dim=1) / BINS
    assert torch.allclose(filled, torch.tensor([0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]), atol=0.02)


def test_a_level_beyond_the_bins_is_told_by_a_wide_one():
    encoding = PiecewiseLinearEncoding(torch.linspace(-2, 2, BINS * 10 + 1)[:, None])
    wide = encoding(torch.tensor([[-6.0], [-3.0], [0.0], [3.0], [6.0]]))[:, 0]
    assert torch.allclose(wide, torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]), atol=0.02)


def test_levels_in_a_crowd_come_out_far_apart_whatever_lies_far_away():
    crowd = torch.cat([torch.linspace(0, 2, 1000), torch.tensor([-100.0, 100.0])])[:, None]
    low, high = PiecewiseLinearEncoding(crowd)(torch.tensor([[0.5], [1.5]]))
    assert (high - low).sum() > BINS / 3


def test_a_level_that_never_changes_stays_finite():
    found = PiecewiseLinearEncoding(torch.full((30, 1), 0.3))(torch.tensor([[0.3], [0.4], [-5.0]]))
    assert found.isfinite().all()
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.parametrize("levels", [1, 24, 500, 2000])
def test_many_levels_share_the_bins(levels):
    assert PiecewiseLinearEncoding(torch.rand(20, levels)).bins <= max(MOST_BINS, 2 * levels)


def test_every_edge_lies_on_the_public_grid():
    encoding = PiecewiseLinearEncoding(torch.randn(500, 3, generator=torch.Generator().manual_seed(0)))
    for numbers in (encoding.low, encoding.width):
        steps = numbers.double().numpy() / GRID
        assert np.array_equal(steps, np.rint(steps))
    assert encoding.width.min() >= GRID


def test_one_window_far_away_moves_no_edge():
    levels = torch.randn(500, 3, generator=torch.Generator().manual_seed(0))
    without, beyond = levels.clone(), levels.clone()
    without[0], beyond[0] = levels.amax(dim=0), 1000.0
    assert torch.equal(PiecewiseLinearEncoding(without).low, PiecewiseLinearEncoding(beyond).low)


def series(*, rows: int = 5, samples: int = 8) -> torch.Tensor:
    return torch.rand(rows, samples, CHANNELS, generator=torch.Generator().manual_seed(0))


def test_statistics_stand_by_kind_then_channel():
    windows = series()
    found = SummaryStatistics()(windows).unflatten(-1, (4, CHANNELS))
    expected = [windows.mean(dim=1), windows.std(dim=1, correction=0), windows.amin(dim=1), windows.amax(dim=1)]
    assert torch.allclose(found, torch.stack(expected, dim=1), atol=1e-4)


@pytest.mark.parametrize("samples", [1, 7, 8])
def test_a_spectrum_is_the_amplitude_of_each_frequency_then_channel(samples):
    windows = series(samples=samples)
    expected = torch.fft.rfft(windows, dim=1).abs().flatten(1) / 2 ** root_of(samples)
    assert torch.allclose(AmplitudeSpectrum(samples)(windows), expected, atol=0.02)  # waves have seven binary digits


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_is_torchs_with_channels_last(stride):
    layer, windows = TimeConvolution(CHANNELS, 3, 3, stride=stride, padding=1), series()
    usual = torch.nn.functional.conv1d(windows.mT, layer.weight, layer.bias, stride=stride, padding=1).mT
    assert torch.allclose(layer(windows), usual, atol=1e-6)
