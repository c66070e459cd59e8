"""Maps and masks that other tools wrote, a file for each case: PNG, TIFF, NPY, NPZ or a run-length code."""

import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from salstats.checks import and_n_more_after_first, quoted
from salstats.errors import InputFileError, Message, MessagePart, SalstatsError, Setting, warn
from salstats.files.input_files import opened, read_json
from salstats.files.paths import check_is_existing_folder
from salstats.images import masks
from salstats.images.map_steps import may_cover_whole_image
from salstats.images.masks import Rle
from salstats.memory_limit import BYTES_PER_PIXEL, check_size
from salstats.readers import image_files
from salstats.readers.case_json import check_name
from salstats.readers.jet_pictures import read_map_picture
from salstats.readers.pickles import read_pickle

#: Endings of files of maps and of masks.
MAP_SUFFIXES = (*image_files.MAP_IMAGE_SUFFIXES, ".npy", ".npz")
MASK_SUFFIXES = (*MAP_SUFFIXES, ".json")
#: Endings of files of volumes, which are not read.
VOLUME_SUFFIXES = (".nii", ".nii.gz", ".mha", ".mhd", ".nrrd")
#: Hint of errors about volumes.
SLICES_HINT = Message(
    "volumes are not read today, maps and masks have two dimensions: save each slice as a file of its own, "
    "such as CASE_z012.npy, and give ",
    Setting("patient_from", "(.+)_z"),
)
#: Numbers of which one marks the pixels of a mask: 1, or the largest number of 8 or of 16 bits.
_MARK_VALUES = (1, 255, 65535)


def find_case_files(
    folder: str | os.PathLike[str],
    suffixes: Sequence[str] = MASK_SUFFIXES,
    case_of_file: Callable[[Path], str | None] | None = None,
) -> dict[str, Path]:
    """Find the file of each case in a folder and below, in the order of the cases.

    The case is the file's name without its ending, or the result of `case_of_file` (None: skip the file).
    Links to files are followed; links to folders are not, with a warning, so that the search stays within
    the folder and ends. Files whose names begin with a dot are left out. Two files of one case are an error.
    """
    files: dict[str, Path] = {}
    for path in files_below(Path(folder)):
        if path.suffix.lower() not in suffixes:
            continue
        name: str | None = path.stem
        if case_of_file is not None:
            name = case_of_file(path)
        if name is None:
            continue
        case = check_name(name, f"{path.parent}: a file's case")
        if case in files:
            raise InputFileError(
                f"case {case} has two files, {files[case]} and {path}",
                hint="remove one, or give each method its folder",
                value=case,
                path=path,
            )
        if not path.is_file():
            raise InputFileError(
                f"{path}: a link to a file that does not exist, or not a plain file", path=path
            )
        files[case] = path
    if not files:
        raise _no_file_error(Path(folder), suffixes)
    return dict(sorted(files.items()))


def find_files_by_task_and_case(
    folder: str | os.PathLike[str], suffixes: Sequence[str], task_outside_folders: str | None = None
) -> dict[str, dict[str, Path]]:
    """Find the files TASK/CASE of a folder: task -> case -> file.

    Files CASE in the folder itself are of `task_outside_folders`; without one they are an error, and so
    are files both in the folder and in folders of tasks.
    """
    root = Path(folder)
    check_is_existing_folder(root)
    visible = sorted(path for path in root.iterdir() if not path.name.startswith("."))
    outside = [path for path in visible if path.suffix.lower() in suffixes and not path.is_dir()]
    task_folders = [path for path in visible if path.is_dir()]
    if not outside:
        if not task_folders:
            raise _no_file_error(root, suffixes)
        return {
            check_name(path.name, f"{root}: the task"): find_case_files(path, suffixes)
            for path in task_folders
        }
    if task_outside_folders is None:
        raise InputFileError(
            f"{outside[0]}: must lie in the folder of its task, {root.name}/TASK/{outside[0].name}",
            column="task",
            path=outside[0],
        )
    for task_folder in task_folders:
        if any(path.suffix.lower() in suffixes for path in files_below(task_folder)):
            raise InputFileError(
                f"{root} holds files, such as {outside[0].name}, and a folder of files, {task_folder.name}",
                hint="put all files of a task in a folder of its name, or all files in one folder",
                path=task_folder,
            )
    return {task_outside_folders: find_case_files(root, suffixes)}


def _no_file_error(folder: Path, suffixes: Sequence[str]) -> InputFileError:
    """Make the error of a folder without files of these endings; its value are the endings there are."""
    names = [path.name.lower() for path in files_below(folder)]
    endings = sorted({Path(name).suffix for name in names} - {""})
    content = "it is empty"
    if names:
        content = f"its files end in {', '.join(endings)}" if endings else "its files have no endings"
    has_volumes = any(name.endswith(VOLUME_SUFFIXES) for name in names)
    return InputFileError(
        f"{folder}: holds no file whose name ends in {', '.join(suffixes)} ({content})",
        hint=SLICES_HINT if has_volumes else "",
        value=endings,
        path=str(folder),
        choices=suffixes,
    )


def files_below(folder: Path) -> list[Path]:
    """List the files in a folder and below, sorted; hidden ones and links to folders are left out."""
    check_is_existing_folder(folder)
    files: list[Path] = []
    linked: list[Path] = []

    def raise_input_file_error(error: OSError) -> None:
        raise InputFileError(
            f"{error.filename}: cannot be read ({error.strerror or error})", path=error.filename
        ) from error

    for parent_name, subfolders, names in os.walk(folder, onerror=raise_input_file_error):
        parent = Path(parent_name)
        # os.walk enters the folders that stay in its list
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        linked += [parent / name for name in subfolders if (parent / name).is_symlink()]
        files += [parent / name for name in names if not name.startswith(".")]
    if linked:
        warn(
            f"{min(linked)}{and_n_more_after_first(linked)}: a link to another folder, which was not "
            "searched",
            value=sorted(linked),
            path=min(linked),
        )
    return sorted(files)


def read_map(path: str | os.PathLike[str], *, colormap: str | None = None) -> np.ndarray:
    """Read a saliency map from a file as float64, with the file's numbers, NaN and infinity included.

    A .npy holds an array, or a dict with one array (read by `read_pickle`, which runs no code), an .npz one
    array. A .png or .tif is grey, of 8 or 16 bits (a TIFF also of floats), or with `colormap="jet"` a picture
    in the colours of jet, whose levels (0 to 255) are the map. Leading axes of length one are dropped.
    Anything else is an InputFileError.
    """
    file = Path(path)
    if file.suffix.lower() in image_files.MAP_IMAGE_SUFFIXES:
        return read_map_picture(file, colormap).astype(np.float64)
    saliency = checked_2d_array(file, _read_array(file, MAP_SUFFIXES, "map"), "map")
    # NumPy warns where it converts a signalling NaN to another type; here it is a NaN like any other
    with np.errstate(invalid="ignore"):
        return saliency.astype(np.float64)


def warn_if_map_has_sides_exchanged(
    map_file: Path, image_shape: tuple[int, int], location: str, table_rows: Sequence[int] = ()
) -> None:
    """Warn where the array of a .npy file has its image's proportions only with rows and columns exchanged.

    `location` names the map in the message, and `table_rows` are its rows in a table.
    """
    shape = _npy_shape_or_empty(map_file)
    if not _is_2d_and_cannot_cover(shape, image_shape) or not may_cover_whole_image(shape[::-1], image_shape):
        return
    warn(
        f"{location}: the map is {shape[0]} x {shape[1]} and its image {image_shape[0]} x {image_shape[1]} "
        "(height x width)",
        hint="it looks turned: the first axis of an array runs from the top down",
        value=shape,
        rows=table_rows,
        path=map_file,
    )


def warn_of_stretched_maps(
    files: Iterable[tuple[str, Path]], shapes: Mapping[str, tuple[int, int] | None], source: object
) -> None:
    """Warn of maps whose proportions are not those of their image, so that scoring stretches them.

    `files` are pairs of case and map, and `shapes` the (height, width) of the image of each case. Turned
    maps, for which there is `warn_if_map_has_sides_exchanged`, are left out.
    """
    _warn_of_stretched_maps(
        [misfit for misfit in _misfit_shapes(files, shapes) if not misfit.is_turned], source
    )


def warn_of_turned_and_stretched_maps(
    files: Iterable[tuple[str, Path]], shapes: Mapping[str, tuple[int, int] | None], source: object
) -> None:
    """Warn of maps that fit their image only with rows and columns exchanged, and of stretched maps.

    The arguments are those of `warn_of_stretched_maps`.
    """
    misfits = _misfit_shapes(files, shapes)
    _warn_of_misfits(
        [misfit for misfit in misfits if misfit.is_turned],
        source,
        "cover their image only with rows and columns exchanged (height x width: {example})",
        "turn these maps, or the masks of these cases; the first axis of an array runs downwards",
    )
    _warn_of_stretched_maps([misfit for misfit in misfits if not misfit.is_turned], source)


class _MisfitShapes(NamedTuple):
    """Shape of a case's map and (height, width) of its image, where their proportions differ."""

    case: str
    map_shape: tuple[int, ...]
    image_shape: tuple[int, int]

    @property
    def is_turned(self) -> bool:
        """Whether the map has its image's proportions when rows and columns are exchanged."""
        return may_cover_whole_image(self.map_shape[::-1], self.image_shape)


def _misfit_shapes(
    files: Iterable[tuple[str, Path]], shapes: Mapping[str, tuple[int, int] | None]
) -> list[_MisfitShapes]:
    """Return the shapes of maps that do not have their image's proportions; only headers are read."""
    misfits = []
    for case, file in files:
        image_shape = shapes.get(case)
        if image_shape is None:
            continue
        map_shape = _header_shape_or_empty(file)
        if _is_2d_and_cannot_cover(map_shape, image_shape):
            misfits.append(_MisfitShapes(case, map_shape, image_shape))
    return misfits


def _is_2d_and_cannot_cover(shape: tuple[int, ...], image_shape: tuple[int, int]) -> bool:
    """Return whether a map has two axes and not the proportions of its image."""
    return len(shape) == 2 and not may_cover_whole_image(shape, image_shape)


def _warn_of_stretched_maps(misfits: Sequence[_MisfitShapes], source: object) -> None:
    """Warn of maps that scoring stretches to their image."""
    _warn_of_misfits(
        misfits,
        source,
        "do not have the proportions of their image (height x width: {example}), and are stretched to it",
        "this is right where the network saw the whole image, stretched in the same way; where it saw a part "
        "or a margin, lay the map on the image first",
    )


def _warn_of_misfits(
    misfits: Sequence[_MisfitShapes], source: object, problem_template: str, hint: str
) -> None:
    """Warn of the cases of some maps, if there are any; {example} in the template is the first's shapes."""
    if not misfits:
        return
    cases = list(dict.fromkeys(misfit.case for misfit in misfits))
    _, map_shape, image_shape = misfits[0]
    example = f"{map_shape[0]} x {map_shape[1]} on {image_shape[0]} x {image_shape[1]}"
    warn(
        f"{source}: the maps of {len(cases)} cases ({quoted(cases)}) "
        f"{problem_template.format(example=example)}",
        hint=hint,
        column="case",
        value=cases,
        path=str(source),
    )


def _header_shape_or_empty(file: Path) -> tuple[int, ...]:
    """Return the shape in the header of an image or of a .npy file; () for damaged and other files."""
    if file.suffix.lower() in image_files.MAP_IMAGE_SUFFIXES:
        try:
            return image_files.image_shape(file)
        # scoring will raise the error of a damaged map
        except SalstatsError:
            return ()
    return _npy_shape_or_empty(file)


def _npy_shape_or_empty(file: Path) -> tuple[int, ...]:
    """Return the shape in the header of a .npy file; () for damaged and other files."""
    if file.suffix.lower() != ".npy":
        return ()
    try:
        return tuple(np.load(file, mmap_mode="r", allow_pickle=False).shape)
    # scoring will raise the error of a damaged map
    except Exception:
        return ()


def read_mask(path: str | os.PathLike[str], *, threshold: float | None = None) -> np.ndarray:
    """Read a mask as an array of bool: a grey image or an array, as `read_map`, or a COCO code in a .json.

    A pixel is marked where its number exceeds `threshold`; without one the file must hold a mask: bool, or 0
    and one of 1, 255 and 65535. For arrays of bool and run-length codes the threshold does not matter.
    """
    file = Path(path)
    if file.suffix.lower() == ".json":
        return masks.decode(read_rle(file))
    numbers = checked_2d_array(file, _read_array(file, MASK_SUFFIXES, "mask"), "mask")
    if numbers.dtype == bool:
        return numbers
    if threshold is not None:
        n_nan = int(np.isnan(numbers).sum())
        if n_nan:
            raise InputFileError(f"{file}: a mask with {n_nan} NaN pixels", path=file, value=n_nan)
        return np.asarray(numbers > threshold)
    return _mask_of_numbers(file, numbers)


def read_rle(path: str | os.PathLike[str], *, threshold: float | None = None) -> Rle:
    """Read a mask as a run-length code: from COCO's JSON, else with `read_mask`, which uses `threshold`."""
    file = Path(path)
    if file.suffix.lower() == ".json":
        try:
            return Rle.from_coco(read_json(file), str(file))
        except InputFileError as error:
            raise error.prefixed(path=file) from error.__cause__
    try:
        return masks.encode(read_mask(file, threshold=threshold))
    except InputFileError:
        raise
    except SalstatsError as error:
        raise InputFileError(f"{file}: {error}") from error


def _mask_of_numbers(file: Path, numbers: np.ndarray) -> np.ndarray:
    """Return True for each pixel that is not 0; raise where the numbers are not 0 and one mark."""
    is_marked = np.asarray(numbers != 0)
    marks = numbers[is_marked]
    # a Python number, as NumPy numbers of 8 bits cannot be compared with 65535
    if not marks.size or (marks[0].item() in _MARK_VALUES and (marks == marks[0]).all()):
        return is_marked
    values = np.unique(numbers)
    examples = ", ".join(f"{v:g}" for v in values[:6].tolist())
    if len(values) > 6:
        examples += ", ..."
    raise InputFileError(
        f"{file}: not a mask but {len(values)} different numbers ({examples})",
        hint="a mask is of bool, or holds 0 and one of 1, 255 or 65535; make one with a threshold first",
        path=file,
        value=values.tolist(),
    )


def checked_2d_array(file: Path, array: np.ndarray, content_name: str) -> np.ndarray:
    """Return the array of a map or mask in two dimensions, without leading axes of length one.

    Raise where it has more dimensions, is empty, or does not hold bool or real numbers.
    """
    if array.dtype.kind not in "biuf" or not array.size:
        raise InputFileError(
            f"{file}: an array of shape {array.shape} and type {array.dtype} is not a {content_name}, "
            "which holds numbers",
            path=file,
            value=array.dtype,
        )
    if array.ndim < 2 or any(n != 1 for n in array.shape[:-2]):
        hint: MessagePart = ""
        if array.ndim == 3 and array.shape[2] in (3, 4):
            hint = "its last axis looks like colours; save one number for each pixel"
        elif array.ndim > 2:
            hint = SLICES_HINT
        raise InputFileError(
            f"{file}: its array has shape {array.shape}; a {content_name} is (height, width)",
            hint=hint,
            path=file,
            value=array.shape,
        )
    return array.reshape(array.shape[-2:])


def _read_array(file: Path, suffixes_in_error: Sequence[str], content_name: str) -> np.ndarray:
    """Read the array of a NumPy file, or the grey values of an image."""
    suffix = file.suffix.lower()
    if suffix in image_files.MAP_IMAGE_SUFFIXES:
        return image_files.read_grey(file)
    if suffix == ".npz":
        return _only_array_of_npz(file)
    if suffix != ".npy":
        raise InputFileError(
            f"{file}: a {content_name} is read from {', '.join(suffixes_in_error)}",
            path=file,
            choices=suffixes_in_error,
        )
    if image_files.npy_holds_objects(file):
        return _array_of_pickled_dict(file)
    return image_files.read_npy(file)


def _array_of_pickled_dict(file: Path) -> np.ndarray:
    """Read the only array in a dict that `numpy.save` pickled; no code in it is run."""
    with opened(file) as stream:
        first_bytes = stream.read(12)
    # numpy.lib.format: 6 bytes of magic string, 2 of the version, 2 (version 1) or 4 of the header's length
    major_version = first_bytes[6]
    header_start = 10 if major_version == 1 else 12
    header_length = int.from_bytes(first_bytes[8:header_start], "little")
    content = read_pickle(file, skip_bytes=header_start + header_length)
    arrays = []
    if isinstance(content, dict):
        arrays = [value for value in content.values() if isinstance(value, np.ndarray)]
    if len(arrays) != 1:
        raise InputFileError(
            f"{file}: holds Python objects with {len(arrays)} arrays",
            hint="save an array, or a dict with one",
            path=file,
            value=len(arrays),
        )
    check_size(arrays[0].size * BYTES_PER_PIXEL, f"{file}: its array of shape {arrays[0].shape}")
    return arrays[0]


def _only_array_of_npz(file: Path) -> np.ndarray:
    """Read the only array of an .npz; raise where it holds several or none."""
    arrays = read_npz(file)
    if len(arrays) != 1:
        raise InputFileError(
            f"{file}: holds {len(arrays)} arrays ({quoted(arrays) or 'none'})",
            hint="save one array",
            path=file,
            value=list(arrays),
        )
    return next(iter(arrays.values()))


def read_npz(file: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz by name, or only those of `names`; pickled objects are an error."""
    with opened(file) as stream:
        if not stream.peek(2).startswith(b"PK"):
            raise InputFileError(f"{file}: not a NumPy archive", choices=["NPZ"], path=file)
        try:
            # closed also where the archive is damaged
            with np.load(stream, allow_pickle=False) as archive:
                # a few bytes can unpack to any number of bytes
                check_size(sum(info.file_size for info in archive.zip.infolist()), f"{file}: its content")
                chosen = [name for name in archive.files if names is None or name in names]
                for name in chosen:
                    _check_no_objects(file, archive.zip, name)
                arrays = {name: np.asarray(archive[name]) for name in chosen}
        except SalstatsError:
            raise
        # NumPy and zipfile raise errors of several classes on damaged files
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise InputFileError(f"{file}: not a NumPy archive, or damaged ({reason})", path=file) from error
    for array in arrays.values():
        check_size(array.size * BYTES_PER_PIXEL, f"{file}: its array of shape {array.shape}")
    return arrays


def _check_no_objects(file: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Raise where the header of an array in an archive says that it holds Python objects."""
    # np.savez names the member after the array; a member without the ending is not an array
    member = f"{name}.npy"
    if member not in archive.namelist():
        return
    with archive.open(member) as stream:
        has_objects = image_files.npy_header_has_objects(cast(BinaryIO, stream))
    if has_objects:
        raise InputFileError(
            f"{file}: its array {name!r} holds Python objects, which are not unpickled",
            hint="save numbers",
            path=file,
            value=name,
        )
