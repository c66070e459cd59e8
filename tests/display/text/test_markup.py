"""HTML is built from text that may hold anything."""

import pytest

from salstats.display.text.markup import Markup, element, escaped, joined, lines


def test_text_and_attribute_values_are_escaped():
    built = element("p", "a < b & 'c'", title='"><script>')
    assert built == '<p title="&quot;&gt;&lt;script&gt;">a &lt; b &amp; &#x27;c&#x27;</p>'


def test_finished_html_is_not_escaped_again():
    assert element("p", element("b", "1 & 2")) == "<p><b>1 &amp; 2</b></p>"


def test_children_may_be_nested_missing_or_made_one_by_one():
    assert joined([None, "a", ["b", (text for text in "<c")], Markup("<br>")]) == "ab&lt;c<br>"


def test_a_string_made_from_html_is_text_again():
    assert joined(Markup("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;"


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\x85", "\ud800", "\ufffe"])
def test_what_html_cannot_hold_is_shown_as_such(bad):
    built = escaped(f"a{bad}b")
    assert built == "a\ufffdb"
    assert built.encode("utf-8")


def test_tabs_line_ends_and_any_script_stay():
    assert escaped("β\t−\né 日本") == "β\t−\né 日本"


def test_attributes_are_named_as_in_html():
    built = element(
        "button", class_="a b", data_copy="x", aria_label="y", disabled=True, hidden=False, id=None
    )
    assert built == '<button class="a b" data-copy="x" aria-label="y" disabled></button>'


def test_zero_is_an_attribute_value():
    assert element("div", tabindex=0) == '<div tabindex="0"></div>'


def test_void_elements_have_no_end_tag():
    assert element("img", alt="") == '<img alt="">'


def test_lines_leave_out_what_is_empty():
    assert lines("a", None, "", element("b")) == "a\n<b></b>"
