from .readers.scores import read_scores as read_scores
