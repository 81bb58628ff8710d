"""GRPO on LIBERO-Long: its arms, its evaluation, its table beside the paper's."""
