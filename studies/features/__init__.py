"""The paper's comparison of features and of noise: few features of each kind, and how much each mechanism disturbs."""
