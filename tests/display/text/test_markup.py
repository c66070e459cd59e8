"""HTML is built from text that may hold anything."""

import pytest

from salstats.display.text.markup import Markup, element, escaped, joined_markup, markup_lines


def test_text_and_attribute_values_are_escaped_once():
    built = element("p", "a < b & 'c'", title='"><script>')
    assert built == '<p title="&quot;&gt;&lt;script&gt;">a &lt; b &amp; &#x27;c&#x27;</p>'
    assert element("p", element("b", "1 & 2")) == "<p><b>1 &amp; 2</b></p>"
    # a string made from HTML is text again
    assert joined_markup(Markup("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;"


def test_children_may_be_nested_missing_or_made_one_by_one():
    assert joined_markup([None, "a", ["b", (text for text in "<c")], Markup("<br>")]) == "ab&lt;c<br>"
    assert markup_lines("a", None, "", element("b")) == "a\n<b></b>"


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\x85", "\ud800", "\ufffe"])
def test_what_html_cannot_hold_is_shown_as_such_and_any_script_stays(bad):
    built = escaped(f"β\t−\né{bad}日本")
    assert built == "β\t−\né\ufffd日本"
    assert built.encode("utf-8")


def test_attributes_are_named_as_in_html():
    built = element(
        "button",
        class_="a b",
        data_copy="x",
        aria_label="y",
        disabled=True,
        hidden=False,
        id=None,
        tabindex=0,
    )
    assert built == '<button class="a b" data-copy="x" aria-label="y" disabled tabindex="0"></button>'
    assert element("img", alt="") == '<img alt="">'
