/// Collects the parameters of a request, and writes the query that a client sends.
public struct QueryEncoder {
    private let form: PercentEncoding.Form
    private var parameters: [(name: ParameterName, text: String)] = []

    /// Creates an encoder without parameters.
    /// - Parameter form: the encoding of the values.
    public init(form: PercentEncoding.Form = .deployedClients) {
        self.form = form
    }

    /// Adds a parameter; a parameter without a value is omitted.
    public mutating func add(_ name: ParameterName, _ value: (some QueryValue)?) {
        guard let value else { return }
        parameters.append((name, value.queryText))
    }

    /// The query, without a `?`: pairs sorted by name, percent-encoded, joined by `&`. Empty if there are none.
    public var query: String {
        var bytes: [UInt8] = []
        for (index, parameter) in parameters.sorted(by: { $0.name < $1.name }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            PercentEncoding.encode(parameter.name.rawValue.utf8, into: &bytes, form: form)
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.encode(parameter.text.utf8, into: &bytes, form: form)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
