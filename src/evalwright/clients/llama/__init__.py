"""A model in a GGUF file, run by llama.cpp in a process beside the engine."""
