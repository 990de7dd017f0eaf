/// The redirect URIs that the app maker has registered with the emulated providers that keep such a list.
struct RegisteredRedirects: Sendable, Equatable {
    /// Google: those of the server's client, which is a web client. Dropbox: those of the app. Compared in full.
    private(set) var exact: [Provider: [String]] = [
        .google: ["http://127.0.0.1:53682/server"],
        .dropbox: ["http://127.0.0.1:53682/server", "http://127.0.0.1:53682/program"],
    ]

    func contains(_ uri: String, _ provider: Provider) -> Bool { exact[provider]?.contains(uri) ?? false }

    /// Registers an additional URI, as in the provider's console.
    mutating func add(_ uri: String, _ provider: Provider) {
        if !contains(uri, provider) { exact[provider, default: []].append(uri) }
    }

    /// The stored and displayed form.
    var json: JSONValue {
        var json: JSONObject = [:]
        for provider in Provider.allCases {
            guard let uris = exact[provider] else { continue }
            json[provider.rawValue] = .array(uris.map { .string($0) })
        }
        return .object(json)
    }

    init() {}

    init(json: JSONValue) {
        self.init()
        for provider in [Provider.google, .dropbox] {
            for uri in json[provider.rawValue]?.array?.compactMap(\.string) ?? [] { add(uri, provider) }
        }
    }
}

extension SandboxSettings {
    func isRegistered(_ uri: String, _ provider: Provider) -> Bool { redirects.contains(uri, provider) }
}
