from .forward import predict as predict
