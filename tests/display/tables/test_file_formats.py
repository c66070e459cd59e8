"""File formats of tables: what each is written from, and where each is offered."""

from salstats.display.tables.file_formats import (
    ANY_TABLE_SUFFIXES,
    RECORD_SUFFIXES,
    RESULT_SUFFIXES,
    TABLE_SUFFIXES,
)


def test_pages_and_pictures_show_any_table_and_other_formats_need_a_record():
    assert set(ANY_TABLE_SUFFIXES) == {".html", ".png"}
    assert set(RECORD_SUFFIXES) == set(TABLE_SUFFIXES) - {".html", ".png"}
    assert set(RESULT_SUFFIXES) == set(TABLE_SUFFIXES) - {".md", ".json", ".png"}
