"""Models: something that answers, by address, provider or name."""

from __future__ import annotations

from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.model_records import AdapterEntry, ModelEntry, ProvidedModel
from assay.formats.declarative.shape import OrWithField
from assay.solvers.conversation_options import GenerationSettings

ADAPTER = object_of(AdapterEntry)
MODEL = object_of(ModelEntry, shapes={"generation": object_of(GenerationSettings)})
ANY_MODEL = OrWithField(MODEL, object_of(ProvidedModel), "$provider")
