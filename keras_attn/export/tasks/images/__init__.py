"""Servables that read or make images."""
