import SyncProtocol

/// Features of debugging builds only: such builds answer CheckPrimaryCreds, and fail when a header requests it.
///
/// A release build contains neither feature, so no configuration can enable them.
enum DebuggingAids {
    #if DEBUG
        static let areIncluded = true

        /// The failure that the header requested; sent as 500.
        struct FailureAsked: Error {}

        /// - Throws: ``FailureAsked`` if the request has the failure header, whatever its value.
        static func failIfAsked(by head: RequestHead) throws {
            if head.header(.failureTest) != nil { throw FailureAsked() }
        }
    #else
        static let areIncluded = false

        static func failIfAsked(by head: RequestHead) throws {}
    #endif
}

#if DEBUG
    /// Reports that the presented token is valid, whether or not its owner is a user here.
    ///
    /// Reads only; may be repeated.
    struct CheckPrimaryCredsEndpoint: Endpoint {
        func respond(
            to request: CheckPrimaryCredsRequest, from caller: SignedInPerson, in context: RequestContext
        ) -> EndpointReply {
            .json(EmptyResponse())
        }
    }

    extension CheckPrimaryCredsRequest: ServedRequest {
        typealias Handler = CheckPrimaryCredsEndpoint
    }
#endif
