import SyncProtocol

/// The whole protocol as an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html), assembled from the route
/// table, the parameter lists of the messages and the descriptions in `Endpoints`.
public enum OpenAPIDocument {
    /// - Parameter version: the server's.
    public static func json(version: String) -> JSON {
        var paths: [String: JSON] = [:]
        let errors = ErrorReplies.ofAllEndpoints()
        for (route, description) in EndpointRoute.described {
            paths["/\(route.endpoint.rawValue)/"] = [
                "parameters": .array(pathParameters(route)),
                route.method.rawValue.lowercased(): operation(route, description, errors),
            ]
        }
        paths[GroupManifest.keysPath] = manifestKeys(errors)
        return [
            "openapi": "3.1.1",
            "info": [
                "title": "SyncServer", "version": .string(version),
                "description":
                    "docs/protocol.md describes the protocol in prose. Parameters are percent-encoded; a space is %20, never +.",
            ],
            "servers": [["url": "/"]], "paths": .object(paths),
            "components": [
                "schemas": .object(Schemas.components.merging(errors.schemas) { $1 }),
                "responses": .object(errors.responses(headers: errorHeaders)), "headers": .object(commonHeaders),
                "securitySchemes": [
                    "token": [
                        "type": "apiKey", "in": "header", "name": .string(RequestHeader.accessToken.rawValue),
                        "description":
                            "The token of the account's provider. `access-token` is an alias, for proxies that drop names with an underscore.",
                    ],
                    "tokenType": [
                        "type": "apiKey", "in": "header", "name": .string(RequestHeader.tokenType.rawValue),
                        "description": .string(
                            "One of " + AccountType.allCases.map(\.tokenType).joined(separator: ", ") + "."),
                    ],
                ],
            ],
        ]
    }

    // MARK: Requests

    private static func operation(
        _ route: EndpointRoute, _ description: EndpointDescription, _ errors: ErrorReplies
    ) -> JSON {
        let parameters = route.message.parameters
        let queries = parameters.names.map { name in
            query(name, isRequired: parameters.requires(name), isGroupUUID: description.isGroupUUID)
        }
        let headers = description.requestHeaders.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            header($0.key, $0.value)
        }
        var operation: [String: JSON] = [
            "operationId": .string(route.endpoint.rawValue), "summary": .string(description.summary),
            "parameters": .array(queries + headers), "responses": responses(route, description, errors),
            "security": route.authentication == .none ? [] : [["token": [], "tokenType": []]],
        ]
        if let body = description.body { operation["requestBody"] = body }
        return .object(operation)
    }

    private static func query(_ name: ParameterName, isRequired: Bool, isGroupUUID: Bool) -> JSON {
        let parameter = ParameterDescription(name, isGroupUUID: isGroupUUID)
        return [
            "name": .string(name.rawValue), "in": "query", "required": .bool(isRequired),
            "description": .string(parameter.meaning), "schema": parameter.schema,
        ]
    }

    /// Every access level except `none` requires the device.
    private static func pathParameters(_ route: EndpointRoute) -> [JSON] {
        guard route.authentication != .none else { return [] }
        let isEpochChecked = route.authentication == .secondary && route.endpoint != .checkCreds
        let device: JSON = [
            "name": .string(RequestHeader.deviceUUID.rawValue), "in": "header", "required": true,
            "description": "Identifies the device; never changes.", "schema": ParameterDescription.uuid,
        ]
        return [
            device,
            header(.authorizationCode, "A code that the server may exchange."),
            header(.redirectURI, "The redirect URI with which the code was requested."),
            codeVerifier,
            header(.accountID, "Dropbox: the account id."),
            header(.microsoftAccessToken, "Microsoft: the second token."),
            header(.accountDetails, "JSON. Apple: the person's names; WebDAV, S3: the storage's address."),
        ] + (isEpochChecked ? [accountEpoch] : [])
    }

    private static let codeVerifier: JSON = [
        "name": .string(RequestHeader.codeVerifier.rawValue), "in": "header", "required": false,
        "description": "The PKCE verifier of the code.",
        "schema": ["type": "string", "minLength": 43, "maxLength": 128, "pattern": "^[A-Za-z0-9._~-]+$"],
    ]

    private static let accountEpoch: JSON = [
        "name": .string(RequestHeader.accountEpoch.rawValue), "in": "header", "required": false,
        "description": "The epoch that the client knows; a request with a different epoch is rejected.",
        "schema": ParameterDescription.integer64,
    ]

    private static func header(_ header: RequestHeader, _ meaning: String) -> JSON {
        [
            "name": .string(header.rawValue), "in": "header", "required": false, "description": .string(meaning),
            "schema": Schemas.text,
        ]
    }

    /// The page that is read by programs although it is not in the table of endpoints.
    private static func manifestKeys(_ errors: ErrorReplies) -> JSON {
        let summary = "Lists the public keys of the manifests in owners' folders, the latest first."
        let key = Schemas.object([
            "key": ["type": "string", "pattern": "^[A-Za-z0-9_-]{43}$", "description": "Ed25519, in base64url."],
            "firstUsed": Schemas.date,
        ])
        var responses = errors.references(for: ErrorCode.anywhere)
        responses["200"] = [
            "description": .string(summary),
            "headers": .object(references(.serverVersion, .minimumIOSClientAppVersion)),
            "content": ["application/json": ["schema": Schemas.object(["keys": Schemas.array(of: key)])]],
        ]
        return [
            "parameters": [],
            "get": [
                "operationId": "ManifestKeys", "summary": .string(summary), "parameters": [],
                "responses": .object(responses), "security": [],
            ],
        ]
    }

    // MARK: Replies

    private static let commonHeaders: [String: JSON] = [
        ResponseHeader.serverVersion.rawValue: [
            "description": "The server's version.", "required": true, "schema": Schemas.version,
        ],
        ResponseHeader.minimumIOSClientAppVersion.rawValue: [
            "description": "The oldest app version that is still supported, if configured.", "schema": Schemas.version,
        ],
        ResponseHeader.errorCode.rawValue: [
            "description": "The `code` of the body.", "required": true, "schema": Schemas.text,
        ],
    ]

    private static func references(_ headers: ResponseHeader...) -> [String: JSON] {
        Dictionary(
            uniqueKeysWithValues: headers.map {
                ($0.rawValue, ["$ref": .string("#/components/headers/\($0.rawValue)")])
            })
    }

    private static let errorHeaders = references(.serverVersion, .minimumIOSClientAppVersion, .errorCode)

    private static func responses(
        _ route: EndpointRoute, _ description: EndpointDescription, _ errors: ErrorReplies
    ) -> JSON {
        var responses = errors.references(for: description.codes(route))
        for status in description.statuses { responses["\(status)"] = success(route, description) }
        if let status = description.emptyStatus {
            responses["\(status)"] = [
                "description": .string(description.summary),
                "headers": .object(
                    references(.serverVersion, .minimumIOSClientAppVersion).merging(description.replyHeaders) { $1 }),
            ]
        }
        if description.canBePartial {
            responses["206"] = success(
                route, description,
                addingHeaders: [
                    "content-range": [
                        "description": "The range of these bytes, and the total.", "required": true,
                        "schema": Schemas.text,
                    ]
                ])
        }
        if description.canBeNotModified {
            responses["304"] = [
                "description": "The client already has the current state or bytes.",
                "headers": .object(references(.serverVersion)),
            ]
        }
        return .object(responses)
    }

    private static func success(
        _ route: EndpointRoute, _ description: EndpointDescription, addingHeaders added: [String: JSON] = [:]
    ) -> JSON {
        var headers = references(.serverVersion, .minimumIOSClientAppVersion).merging(description.replyHeaders) { $1 }
        headers.merge(added) { $1 }
        var response: [String: JSON] = ["description": .string(description.summary)]
        switch route.responseKind {
        case .json: response["content"] = ["application/json": ["schema": description.reply]]
        case .header, .data:
            headers[ResponseHeader.messageParams.rawValue] = [
                "description": "The reply's JSON object, as one line of ASCII.", "required": true,
                "content": ["application/json": ["schema": description.reply]],
            ]
        }
        if route.responseKind == .data {
            response["content"] = ["application/octet-stream": ["schema": ["type": "string", "format": "binary"]]]
        }
        response["headers"] = .object(headers)
        return .object(response)
    }
}
