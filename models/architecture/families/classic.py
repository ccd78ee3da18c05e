"""Families with learned positions, ALiBi or fields of their own: GPT-2, OPT, BLOOM and others."""

from typing import Final

from models.architecture.blocks.rotary import NO_ROTARY
from models.architecture.families.family import ModelFamily
from models.architecture.families.recipes.classic import bloom, falcon, gpt2, gpt_neox, gptj, opt
from models.architecture.traits import EngineTraits

# Without rotary positions: vLLM 0.33.0 `gpt2.py`, `opt.py` (learned), `bloom.py` (ALiBi).
RECORDS: Final = (
    ModelFamily(name="falcon", recipe=falcon, tied=True),
    ModelFamily(name="gpt2", recipe=gpt2, tied=True, rotary=NO_ROTARY),
    ModelFamily(name="gpt-sw3", recipe=gpt2, tied=True, rotary=NO_ROTARY),
    ModelFamily(name="gpt_neox", recipe=gpt_neox, engine=EngineTraits(transformers_backend=True)),
    ModelFamily(name="gptj", recipe=gptj),
    ModelFamily(name="opt", recipe=opt, tied=True, rotary=NO_ROTARY),
    ModelFamily(name="bloom", recipe=bloom, tied=True, rotary=NO_ROTARY),
)
