"""Principal components: the plane that windows lie in is kept."""

import numpy as np

from deeprotect.training.feature_extractors.feature_extractor import PCA


def test_principal_components_keep_a_plane_exactly() -> None:
    generator = np.random.default_rng(1)
    X = generator.random((50, 2)) @ generator.random((2, 9)) + 0.1
    model = PCA(2).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
