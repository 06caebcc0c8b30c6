import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { html, scriptJson, trustedHtml } from './html.ts';

describe('html', () => {
  it('escapes what is put into text and attributes, and leaves its own markup', () => {
    const hostile = `"><script>alert('&')</script>`;
    expect(html`<p title="${hostile}">${hostile}</p>`.text).toBe(
      '<p title="&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;">' +
        '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;</p>',
    );
    const items = [html`<b>${1}</b>`, trustedHtml('<b>2</b>')];
    expect(html`<p>${items}</p>`.text).toBe('<p><b>1</b><b>2</b></p>');
  });

  it('never lets any text open a tag or end an attribute', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(html`${text}`.text).not.toMatch(/[<>"']/);
      }),
    );
  });
});

describe('scriptJson', () => {
  it('is JSON of the value that cannot end its script, whatever the strings', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('</script>', '<!--', '\u2028'));
    fc.assert(
      fc.property(fc.dictionary(text, text), (value) => {
        const literal = scriptJson(value).text;
        expect(JSON.parse(literal)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(literal).not.toMatch(/[<\u2028\u2029]/);
      }),
    );
  });
});
