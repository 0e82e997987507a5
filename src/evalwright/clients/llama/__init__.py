"""A model in a GGUF file, run by llama.cpp in a separate process."""
