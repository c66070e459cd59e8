from .forward import predict as predict
from .faithfulness import insertion as insertion
from .faithfulness import deletion as deletion
from .curves import curve_scores as curve_scores
from .minimal_masks import MinimalMasks as MinimalMasks
from .minimal_masks import minimal_mask as minimal_mask
