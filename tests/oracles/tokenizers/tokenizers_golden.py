"""Writes tokenizers-golden.json: small tokenizers of every kind, and what the official library makes of nasty texts.

Made with Python 3.11, tokenizers 0.23.3, sentencepiece 0.2.3 (for its normalization table only):
    python tokenizers_golden.py > tokenizers-golden.json
"""

import base64
import json
import random
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "The farmer counts 12 apples, 340 pears and 5678 plums; then she doesn't count any more.",
    "We'll see what they're doing: I'm sure it isn't far, and you've got time.",
    "def add(a, b):\n    return a + b\n\n\nclass Stack:\n\tdef push(self, item):\n\t\tself.items.append(item)\n",
    "caf\u00e9 na\u00efve \u00fcber stra\u00dfe \u0159e\u0159icha \u0142\u00f3d\u017a",
    "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0 \u4e2d\u6587\u53e5\u5b50 \ud55c\uad6d\uc5b4 \ubb38\uc7a5",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0442\u0435\u043a\u0441\u0442 \u0438 \u0431\u0443\u043a\u0432\u044b",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u05e9\u05dc\u05d5\u05dd",
    "smile \U0001f600\U0001f600 rocket \U0001f680 family \U0001f468\u200d\U0001f469\u200d\U0001f467",
    'x = {"a": [1, 2.5, -3e10], "b": null}  // comment',
    "there    are     many      spaces here and   here   ",
    # Numbers, spaces and letters that regex engines do not agree about, often enough to be merged.
    "\u0661\u0662\u0663 \u0661\u0662\u0663 \u00bd\u00bc \u00bd\u00bc \u2167\u2168 \u00b2\u00b3 \u00b2\u00b3 x\u00b2\u00b3",
    "a\u0085\u0085b a\u0085\u0085b \ufeff\ufeffa \ufeff\ufeffa \u200b\u200b \u180e\u180e a\u00a0\u00a0b a\u00a0\u00a0b",
    "it'\u017f it'\u017f IT'S IT'S WE'LL WE'LL swordfish swords",
] * 4

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

TEXTS = [
    "",
    " ",
    "  ",
    "\n",
    "\r\n\r\n \t \n",
    "Hello world",
    " Hello  world ",
    "   leading and trailing   ",
    "a" + " " * 100 + "b",
    "\t\t\tindented\n\n\n\nlines\n ",
    "don't DON'T Don\u2019t we'll WE'LL they'Re I'm I'M it's 's 'S \u017f '\u017f 'LL",
    "1 12 123 1234 12345678901234567890 3.14 \u0661\u0662\u0663 \u00bd \u2167 \u00b2",
    "caf\u00e9 vs cafe\u0301, \u00c5 \u212b A\u030a, \uac00 \u1100\u1161, \ufb01 \uff21\uff22 \u2460",
    "zalgo: Z\u0351\u036b\u0343\u036aa\u0328\u0321\u0321l\u0334\u0358g\u0336o\u0337",
    "\U0001f600 \U0001f469\u200d\U0001f52c \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd \u2764\ufe0f",
    "\u65e5\u672c\u8a9e\u3067\u3059\u3002\u4e2d\u6587\uff0c\u53e5\u5b50\uff01\ud55c\uad6d\uc5b4 \ubb38\uc7a5",
    "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627 \u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0000\u0001\u0002\u001f\u007f\u0080\u0085\u009f",
    "\u00a0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff|",
    "\u180e\u00ad\u061c\u200e\u200f\u202e",
    "\ufffd\uffff\U0010ffff\ue000",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
    "a<|im_end|>b <|im_end|> c  <|im_end|>  d",
    "<|im_end|><|im_end|><|endoftext|>",
    "<|im_end <|im_end|>|> <|IM_END|>",
    "<think>  no</think> x<think>x </think>",
    "  <mask>  masked word<mask>word word <mask>word",
    "one\u2581two \u2581 \u2581\u2581three",
    "<0x41><0x0A> <unk> <s> </s>",
    "x = {\"a\": [1, 2.5, -3e10]}; // \\n \\u0041",
    "SELECT * FROM t WHERE a>='b'--!!!???...",
    "http://example.org/~user/?q=a+b&c=%20#frag",
    "tab\tseparated\tvalues\r\nand\rcarriage",
    "The farmer doesn't count 340 apples \u65e5\u672c \U0001f680",
    "ThisIsCamelCase_and_snake_case-and-kebab",
    "\u01c5 \u02b0 \u00aa \u0130stanbul \u0131 \u1e9e \u00df \u03c3\u03c2\u03a3",
    "= = == === \u2550\u2550\u2550 ----- _____ *****",
    "if (x<y&&y>z){return!x;}",
    "mixed\u65e5123abc\u0430\u0431\u0432 7\u65e5",
    "\U0001d400\U0001d7d8 \U00010330 \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "12 345,678.90 \u20ac5 $6 50% 1st 2nd",
    "\n\nfoo\n\n\nbar   \n   baz",
    "a\u0300\u0301b\u0302 \u0300 x\u20dd",
    "ha" * 60,
    "swordfish words word. word, (word) word\u0301 word_ 9word",
    "\u0661\u0662\u0663\u0664 \u00bd\u00bc\u00be x\u00b2\u00b3 \u2167\u2168",
    "a\u0085\u0085b \ufeff\ufeffa \u200b\u200b  \u180e\u180e a\u00a0\u00a0b it'\u017f IT'S it's",
]

RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0x20, 0x20), (0x9, 0xD), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x5FF), (0x900, 0x97F),
          (0x1100, 0x11FF), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xACFF), (0xFB00, 0xFB4F), (0xFF00, 0xFFEF), (0x1F300, 0x1F64F)]


def random_texts(count: int) -> list[str]:
    source = random.Random(4)
    return ["".join(chr(source.randint(*source.choice(RANGES))) for _ in range(source.randint(1, 24))) for _ in range(count)]


def added() -> list[AddedToken]:
    return [
        AddedToken("<think>", special=False, normalized=False),
        AddedToken("</think>", special=False, normalized=False),
        AddedToken("<mask>", special=True, lstrip=True, rstrip=True, normalized=False),
        AddedToken("word", special=False, single_word=True, normalized=True),
    ]


GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{%s}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


def byte_level(pre: pre_tokenizers.PreTokenizer, normalizer=None, **model) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=SPECIALS, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(added())
    return tokenizer


def byte_fallback(legacy: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    metaspace = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=False)
    tokenizer.pre_tokenizer = metaspace
    trainer = trainers.BpeTrainer(vocab_size=460, special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))], show_progress=False, limit_alphabet=60, max_token_length=8)
    # Learnt word by word, applied to whole texts.
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    tokenizer.train_from_iterator(CORPUS, trainer)
    parsed = json.loads(tokenizer.to_str())
    parsed["added_tokens"] = [token for token in parsed["added_tokens"] if not token["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(parsed))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        tokenizer.pre_tokenizer = None
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    if not legacy:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.add_tokens(added())
    return tokenizer


# Replacements of characters, of graphemes of several, and of a grapheme whose first character has an entry of its own.
RULES = {"\uff21": "A", "\uff42": "b", "\ufb01": "fi", "\u3000": " ", "\u0085": " ", "\u200b": "", "e\u0301": "\u00e9", "\u1100\u1161": "\uac00", "\u2460": "1", "\u00bd": "1/2", "Z": "z", "Z\u0351": "!", "\u2764": "<3"}


def charsmap() -> bytes:
    """A normalization table as SentencePiece compiles it, like the one that T5 and its kin carry, but small."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/rules.tsv", "w") as file:
            for source, target in RULES.items():
                file.write("\t".join(" ".join(f"{ord(c):X}" for c in text) for text in (source, target)) + "\n")
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_prefix=f"{folder}/m", vocab_size=200, hard_vocab_limit=False, normalization_rule_tsv=f"{folder}/rules.tsv", minloglevel=2)
        proto = sentencepiece_model_pb2.ModelProto()
        with open(f"{folder}/m.model", "rb") as file:
            proto.ParseFromString(file.read())
        return proto.normalizer_spec.precompiled_charsmap


def unigram(kind: str) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents()]) if kind == "nfkd" else normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    if kind == "t5":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
        parsed = json.loads(tokenizer.to_str())
        parsed["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap()).decode()}
        tokenizer = Tokenizer.from_str(json.dumps(parsed))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.add_tokens(added())
    return tokenizer


KINDS = {
    "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)),
    "gpt2-prefix-space": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)),
    "smollm2": byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])),
    "llama3": byte_level(split(GPT4 % "1,3"), ignore_merges=True),
    "qwen2": byte_level(split(GPT4.replace("{%s}", "")), normalizers.NFC()),
    "llama2": byte_fallback(legacy=True),
    "mistral": byte_fallback(legacy=False),
    "unigram": unigram("plain"),
    "unigram-nfkd": unigram("nfkd"),
    "t5": unigram("t5"),
}

texts = TEXTS + random_texts(60)
golden: dict = {"texts": texts, "kinds": {}}
for name, tokenizer in KINDS.items():
    definition = json.loads(tokenizer.to_str())
    if definition["model"]["type"] == "BPE":
        definition["model"]["merges"] = [" ".join(pair) if " " not in "".join(pair) else pair for pair in definition["model"]["merges"]]
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    source = random.Random(7)
    scrambled = [[source.randrange(tokenizer.get_vocab_size()) for _ in range(12)] for _ in range(20)]
    golden["kinds"][name] = {
        "tokenizer": definition,
        "ids": ids,
        "decoded": [tokenizer.decode(i, skip_special_tokens=True) for i in ids],
        "scrambled": scrambled,
        "scrambledDecoded": [tokenizer.decode(i, skip_special_tokens=True) for i in scrambled],
    }
json.dump(golden, sys.stdout, ensure_ascii=True, separators=(",", ":"))
