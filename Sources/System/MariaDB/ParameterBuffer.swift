internal import CMariaDB

/// The values of one execution, in memory with a fixed address while libmariadb sends them.
///
/// All text and bytes are copied into one block that is reused from execution to execution.
@safe
struct ParameterBuffer: ~Copyable {
    /// A larger block is freed after the execution.
    private static let keptBytes = 64 * 1024

    /// One binding per value; valid until the next ``fill(with:)`` or ``trim()``.
    private(set) var bindings: UnsafeMutableBufferPointer<MYSQL_BIND> = unsafe .init(start: nil, count: 0)
    private var block: UnsafeMutableRawBufferPointer = unsafe .init(start: nil, count: 0)

    deinit {
        unsafe bindings.deallocate()
        unsafe block.deallocate()
    }

    /// Copies the values in; their number must be the same each time.
    mutating func fill(with values: [Value]) {
        if unsafe bindings.count != values.count {
            unsafe bindings.deallocate()
            unsafe bindings = .allocate(capacity: values.count)
        }
        let needed = values.reduce(0) { $0 + $1.blockBytes }
        if unsafe block.count < needed {
            unsafe block.deallocate()
            // Integers come first, so that they are aligned.
            unsafe block = .allocate(byteCount: max(needed, 512), alignment: 8)
        }
        var integerOffset = 0
        var bytesOffset = values.reduce(0) { $0 + $1.integerBytes }
        for (index, value) in values.enumerated() {
            var binding = unsafe MYSQL_BIND()
            switch value {
            case .null:
                unsafe binding.buffer_type = MYSQL_TYPE_NULL
            case .int(let number):
                unsafe bind(number, at: &integerOffset, to: &binding)
            case .bool(let flag):
                unsafe bind(flag ? 1 : 0, at: &integerOffset, to: &binding)
            case .text(var text):
                text.withUTF8 { unsafe bind($0, as: MYSQL_TYPE_STRING, at: &bytesOffset, to: &binding) }
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBufferPointer {
                    unsafe bind($0, as: MYSQL_TYPE_BLOB, at: &bytesOffset, to: &binding)
                }
            }
            unsafe bindings.initializeElement(at: index, to: binding)
        }
    }

    /// Frees a large block; called once the values are sent.
    mutating func trim() {
        guard unsafe block.count > Self.keptBytes else { return }
        unsafe block.deallocate()
        unsafe block = .init(start: nil, count: 0)
    }

    private func bind(_ number: Int64, at offset: inout Int, to binding: inout MYSQL_BIND) {
        unsafe block.storeBytes(of: number, toByteOffset: offset, as: Int64.self)
        unsafe binding.buffer_type = MYSQL_TYPE_LONGLONG
        unsafe binding.buffer = unsafe block.baseAddress.map { unsafe $0 + offset }
        unsafe binding.buffer_length = 8
        offset += 8
    }

    private func bind(
        _ bytes: UnsafeBufferPointer<UInt8>, as type: enum_field_types, at offset: inout Int,
        to binding: inout MYSQL_BIND
    ) {
        unsafe UnsafeMutableRawBufferPointer(rebasing: block[offset..<(offset + bytes.count)]).copyMemory(
            from: .init(bytes))
        unsafe binding.buffer_type = type
        unsafe binding.buffer = unsafe block.baseAddress.map { unsafe $0 + offset }
        // Without a length pointer libmariadb takes this as the value's length (mysql_stmt_bind_param(3)).
        unsafe binding.buffer_length = UInt(bytes.count)
        offset += bytes.count
    }
}

extension Value {
    /// Bytes that the value occupies in the integers' part of the block.
    fileprivate var integerBytes: Int {
        switch self {
        case .int, .bool: 8
        case .null, .text, .bytes: 0
        }
    }

    /// Bytes that the value occupies in the block.
    fileprivate var blockBytes: Int {
        switch self {
        case .null: 0
        case .int, .bool: 8
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}
