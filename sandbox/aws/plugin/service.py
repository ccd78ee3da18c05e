"""The ResourceProvider service: requests into plain values, errors into gRPC's form."""

import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from pulumi.runtime.proto import provider_pb2 as pb
from pulumi.runtime.proto.plugin_pb2 import PluginInfo

from sandbox.aws.core.errors import InitError
from sandbox.aws.core.home import StandInHome
from sandbox.aws.core.values import from_struct, to_struct
from sandbox.aws.kinds import CLASSES, KINDS
from sandbox.aws.plugin import config as configuration
from sandbox.aws.plugin.differ import Difference
from sandbox.aws.plugin.invokes import invoke
from sandbox.aws.plugin.work import ConfiguredProvider, KindCatalog
from sandbox.aws.schema.cache import load
from sandbox.core.errors import SandboxError

_DETAILS: Final = "grpc-status-details-bin"
Context = grpc.ServicerContext


class Service:
    """One provider process. The engine starts one for every provider resource of a program."""

    def __init__(self, home: StandInHome) -> None:
        self._home = home
        catalog = KindCatalog(kinds=KINDS, schemas=load(CLASSES))
        self._work = ConfiguredProvider(catalog=catalog, aws=None, default_tags={}, repeats=None)

    def handshake(self, _: Any, _c: Context) -> Message:
        """Say what is understood: secrets are opened and marked again by the engine."""
        return pb.ProviderHandshakeResponse(supports_autonaming_configuration=True)

    def plugin_info(self, _: Any, _c: Context) -> Message:
        """Answer with the version of the SDK whose types are played."""
        return PluginInfo(version=version("pulumi-aws"))

    def check_config(self, request: Any, _: Context) -> Message:
        """Refuse settings that cannot be honored."""
        found = configuration.problems(configuration.plain(from_struct(request.news)))
        failures = [pb.CheckFailure(property=each.path, reason=str(each)) for each in found]
        return pb.CheckResponse(inputs=request.news, failures=failures)

    def diff_config(self, request: Any, _: Context) -> Message:
        """Another region or account is another provider."""
        old = configuration.plain(from_struct(request.old_inputs or request.olds))
        new = configuration.plain(from_struct(request.news))
        changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        answer = pb.DiffResponse(diffs=changed)
        answer.changes = pb.DiffResponse.DIFF_SOME if changed else pb.DiffResponse.DIFF_NONE
        answer.replaces.extend(key for key in changed if key in ("region", "allowedAccountIds"))
        return answer

    def configure(self, request: Any, _: Context) -> Message:
        """Take the settings; called once, before anything else is asked."""
        config = configuration.plain(from_struct(request.args))
        aws, tags = configuration.connect(self._home, config)
        self._work = ConfiguredProvider(
            catalog=self._work.catalog,
            aws=aws,
            default_tags=tags,
            repeats=self._home.repeated,
        )
        return pb.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True)

    def check(self, request: Any, _: Context) -> Message:
        """Check and complete a resource's inputs."""
        made, found = self._work.check(
            _token(request.urn),
            request.urn,
            from_struct(request.news),
            from_struct(request.olds),
            request.randomSeed,
        )
        failures = [pb.CheckFailure(property=each.path, reason=str(each)) for each in found]
        return pb.CheckResponse(inputs=to_struct(made), failures=failures)

    def diff(self, request: Any, _: Context) -> Message:
        """Compare old inputs with new ones."""
        old = from_struct(request.old_inputs) or from_struct(request.olds)
        return _diff_answer(self._work.diff(_token(request.urn), old, from_struct(request.news)))

    def create(self, request: Any, _: Context) -> Message:
        """Make a resource, or say what it would be."""
        inputs, token = from_struct(request.properties), _token(request.urn)
        if request.preview:
            return pb.CreateResponse(properties=to_struct(self._work.preview_create(token, inputs)))
        identity, made = self._work.create(token, request.urn, inputs)
        return pb.CreateResponse(id=identity, properties=to_struct(made))

    def read(self, request: Any, _: Context) -> Message:
        """Say how a resource is; an empty id means that it is gone."""
        found = self._work.read(
            _token(request.urn),
            request.id,
            from_struct(request.inputs),
            from_struct(request.properties),
        )
        if found is None:
            return pb.ReadResponse()
        inputs, outputs = found
        return pb.ReadResponse(
            id=request.id, inputs=to_struct(inputs), properties=to_struct(outputs)
        )

    def update(self, request: Any, _: Context) -> Message:
        """Change a resource in place."""
        token, old, new = _token(request.urn), from_struct(request.olds), from_struct(request.news)
        if request.preview:
            made = self._work.preview_update(token, old, new)
        else:
            made = self._work.update(token, request.id, old, new)
        return pb.UpdateResponse(properties=to_struct(made))

    def delete(self, request: Any, _: Context) -> Message:
        """Remove a resource."""
        state = from_struct(request.properties)
        self._work.delete(_token(request.urn), request.urn, request.id, state)
        return Empty()

    def invoke(self, request: Any, _: Context) -> Message:
        """Answer a data source."""
        aws = self._work.aws
        if aws is None:
            return pb.InvokeResponse()
        answer = pb.InvokeResponse()
        getattr(answer, "return").CopyFrom(
            to_struct(invoke(aws, request.tok, from_struct(request.args)))
        )
        return answer

    def cancel(self, _: Any, _c: Context) -> Message:
        """Let running calls end: each is one request to moto."""
        return Empty()


def _token(urn: str) -> str:
    """Return the type in a URN: the last of its parent chain."""
    return urn.split("::")[2].rpartition("$")[2]


def _diff_answer(difference: Difference) -> Message:
    answer = pb.DiffResponse(
        hasDetailedDiff=True,
        deleteBeforeReplace=difference.delete_first,
        changes=pb.DiffResponse.DIFF_SOME if difference.paths else pb.DiffResponse.DIFF_NONE,
    )
    tops = sorted({path.split(".")[0].split("[")[0] for path in difference.paths})
    answer.diffs.extend(tops)
    answer.replaces.extend(
        sorted({path.split(".")[0].split("[")[0] for path in difference.replacing})
    )
    for path, how in difference.paths.items():
        name = f"{how.upper()}{'_REPLACE' if path in difference.replacing else ''}"
        kind = pb.PropertyDiff.Kind.Value(name)
        answer.detailedDiff[path].CopyFrom(pb.PropertyDiff(kind=kind, inputDiff=True))
    return answer


_Call = Callable[[Any, Context], Message]


def _guarded(call: _Call) -> _Call:
    """Turn errors into gRPC's: one line for what was refused, a traceback for our own fault."""

    def answer(request: Any, context: Context) -> Message:
        try:
            return call(request, context)
        except InitError as error:
            _init_failed(context, error, request)
        except SandboxError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        except Exception:
            context.abort(grpc.StatusCode.INTERNAL, f"stand-in: {traceback.format_exc()}")
        raise AssertionError

    return answer


def _init_failed(context: Context, error: InitError, request: Any) -> None:
    """Tell the engine that a resource exists and did not come up: it goes into the state."""
    news = request.properties if isinstance(request, pb.CreateRequest) else request.news
    detail = AnyMessage()
    detail.Pack(
        pb.ErrorResourceInitFailed(
            id=error.identity, properties=news, inputs=news, reasons=[str(error)]
        )
    )
    code = grpc.StatusCode.UNKNOWN
    status = Status(code=2, message=str(error), details=[detail])
    context.set_trailing_metadata(((_DETAILS, status.SerializeToString()),))
    context.abort(code, str(error))


def _calls(service: Service) -> Mapping[str, tuple[_Call, type[Message]]]:
    return {
        "Handshake": (service.handshake, pb.ProviderHandshakeRequest),
        "GetPluginInfo": (service.plugin_info, Empty),
        "CheckConfig": (service.check_config, pb.CheckRequest),
        "DiffConfig": (service.diff_config, pb.DiffRequest),
        "Configure": (service.configure, pb.ConfigureRequest),
        "Check": (service.check, pb.CheckRequest),
        "Diff": (service.diff, pb.DiffRequest),
        "Create": (service.create, pb.CreateRequest),
        "Read": (service.read, pb.ReadRequest),
        "Update": (service.update, pb.UpdateRequest),
        "Delete": (service.delete, pb.DeleteRequest),
        "Invoke": (service.invoke, pb.InvokeRequest),
        "Cancel": (service.cancel, Empty),
    }


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def serve(home: StandInHome) -> tuple[grpc.Server, int]:
    """Serve on a free loopback port in background threads; return the server and its port."""
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            _guarded(call),
            request_deserializer=request.FromString,
            response_serializer=_serialize,
        )
        for name, (call, request) in _calls(Service(home)).items()
    }
    limits = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=32), options=limits)
    service = grpc.method_handlers_generic_handler("pulumirpc.ResourceProvider", handlers)
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port
