"""Prompts as tokens: tokenizers, templates and prefix diagnosis of files."""
