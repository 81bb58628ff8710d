"""MiniVLA: Qwen2.5-0.5B that sees through DINOv2 and SigLIP, in prismatic's checkpoint layout."""
