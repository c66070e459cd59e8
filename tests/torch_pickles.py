"""Pickles written by hand, as torch writes them and as nobody should: no torch is needed to test with."""

import io
import pickle
import pickletools
import zipfile


def value(content):
    """The instructions that push a plain value."""
    # protocol 3 has bytes; the first two bytes name it, the last one stops
    return pickletools.optimize(pickle.dumps(content, 3))[2:-1]


def name(module, attribute):
    """The instruction that pushes a global."""
    return f"c{module}\n{attribute}\n".encode()


def call(function, *arguments):
    """The instructions that call a function with what other instructions push."""
    return function + b"(" + b"".join(arguments) + b"tR"


def entries(**content):
    """The instructions that make a dict of what other instructions push."""
    return b"}(" + b"".join(value(key) + pushed for key, pushed in content.items()) + b"u"


def whole(instructions):
    """A pickle of some instructions."""
    return b"\x80\x03" + instructions + b"."


def pickle_that_makes_folder(folder):
    """A pickle that makes a folder where it is run."""
    return whole(call(name("os", "mkdir"), value(str(folder))))


def storage_id(numel, *, element="Float", key="0", location="cpu", module="torch", view=None):
    """The instructions that push what stands for a storage."""
    parts = value("storage") + name(module, f"{element}Storage") + value(key) + value(location) + value(numel)
    return b"(" + parts + (b"" if view == () else value(view)) + b"tQ"


def stream(instructions, raw, *, numel=None, keys=("0",), little_endian=True):
    """What torch.save's older form writes: header, object, keys, and each storage's size and bytes."""
    system = {"protocol_version": 1001, "little_endian": little_endian, "type_sizes": {"int": 4}}
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, system)]
    stated = b"" if numel is None else numel.to_bytes(8, "little", signed=True)
    return b"".join([*parts, whole(instructions), pickle.dumps(list(keys), 2), stated, raw])


def stored(raw, numel, **options):
    """The instructions that push a storage of some bytes, as a pickled tensor has it."""
    content = stream(storage_id(numel, **options), raw, numel=numel)
    return call(name("torch.storage", "_load_from_bytes"), value(content))


def tensor(storage, size, stride, *, offset=0, function="_rebuild_tensor_v2"):
    """The instructions that push a tensor on a storage."""
    rest = value(False) + call(name("collections", "OrderedDict")) if function.endswith("v2") else b""
    return call(name("torch._utils", function), storage, value(offset) + value(size) + value(stride) + rest)


def archive(instructions, storages, *, top="archive/", compression=zipfile.ZIP_STORED):
    """What torch.save writes now: a zip archive of the pickle and of each storage."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", compression) as file:
        file.writestr(f"{top}data.pkl", whole(instructions))
        file.writestr(f"{top}byteorder", "little")
        for key, raw in storages.items():
            file.writestr(f"{top}data/{key}", raw)
    return written.getvalue()
